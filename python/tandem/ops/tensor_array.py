"""tf.TensorArray: a list of tensors, written once and read. Each change gives a new object, as in TensorFlow."""

from tandem import _core
from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.errors import InvalidArgumentError, OutOfRangeError
from tandem.framework.shape import as_shape


class TensorArray:
    """A list of tensors of one dtype."""

    _loop_state = True  # while_loop carries it as it is

    def __init__(
        self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None,
        flow=None, infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None,
    ):  # fmt: skip
        self._dtype = as_dtype(dtype)
        self._dynamic_size = bool(dynamic_size)
        self._clear_after_read = clear_after_read is None or bool(clear_after_read)
        self._infer_shape = infer_shape
        self._element_shape = as_shape(element_shape)
        self._tensors = [None] * (0 if size is None else int(size))
        self._read = set()

    dtype = property(lambda self: self._dtype)
    dynamic_size = property(lambda self: self._dynamic_size)
    element_shape = property(lambda self: self._element_shape)
    flow = property(lambda self: convert_to_tensor(0.0))
    handle = property(lambda self: None)

    def _with(self, tensors):
        other = object.__new__(TensorArray)
        other.__dict__.update(self.__dict__)
        other._tensors = tensors
        other._read = set(self._read)
        return other

    def identity(self):
        return self._with(list(self._tensors))

    def size(self, name=None):
        return convert_to_tensor(len(self._tensors))

    def _index(self, index):
        known = _core.static_value(convert_to_tensor(index))
        if known is None:
            raise NotImplementedError("tf.TensorArray with a symbolic index is not available in Tandem.")
        return int(known)

    def write(self, index, value, name=None):
        index = self._index(index)
        value = convert_to_tensor(value, self._dtype)
        if not self._element_shape.is_compatible_with(value.shape):
            raise ValueError(f"Incompatible shape for value ({value.shape}), expected ({self._element_shape})")
        if self._infer_shape:
            self._element_shape = self._element_shape.merge_with(value.shape)
        tensors = list(self._tensors)
        if index >= len(tensors):
            if not self._dynamic_size:
                raise OutOfRangeError(
                    None, None,
                    f"Tried to write to index {index} but array is not resizeable and size is: {len(tensors)}",
                )  # fmt: skip
            tensors += [None] * (index + 1 - len(tensors))
        tensors[index] = value
        return self._with(tensors)

    def read(self, index, name=None):
        index = self._index(index)
        if not 0 <= index < len(self._tensors):
            raise OutOfRangeError(
                None, None, f"Tried to read from index {index} but array size is: {len(self._tensors)}"
            )
        if index in self._read:
            raise InvalidArgumentError(
                None, None,
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)",
            )  # fmt: skip
        value = self._value(index)
        if self._clear_after_read:
            self._read.add(index)
        return value

    def _value(self, index):
        value = self._tensors[index]
        if value is not None:
            return value
        if not self._element_shape.is_fully_defined():
            raise InvalidArgumentError(
                None,
                None,
                f"Could not read from TensorArray index {index} because it has not been written to",
            )
        return execute("Fill", self._element_shape.as_list(), convert_to_tensor(0, self._dtype))

    def stack(self, name=None):
        if not self._tensors:
            return execute("Fill", [0, *[d or 0 for d in self._element_shape]], convert_to_tensor(0, self._dtype))
        return execute("Pack", [self._value(i) for i in range(len(self._tensors))], axis=0)

    def gather(self, indices, name=None):
        return execute("Pack", [self._value(i) for i in _core.to_ints(indices)], axis=0)

    def concat(self, name=None):
        parts = [self._value(i) for i in range(len(self._tensors))]
        return parts[0] if len(parts) == 1 else execute("ConcatV2", parts, axis=0)

    def unstack(self, value, name=None):
        value = convert_to_tensor(value, self._dtype)
        return self._with(execute("Unpack", value, num=value.shape[0], axis=0) if value.shape[0] else [])

    def scatter(self, indices, value, name=None):
        result = self
        for index, row in zip(_core.to_ints(indices), execute("Unpack", value, axis=0)):
            result = result.write(index, row)
        return result

    def split(self, value, lengths, name=None):
        value = convert_to_tensor(value, self._dtype)
        return self._with(execute("SplitV", value, sizes=lengths, axis=0))

    def close(self, name=None):
        self._tensors = []
