"""tf.TensorArray: a list of tensors of one dtype, written element by element. Each change gives a new object.

A cover of the native list ops, the same eagerly and in traced functions; loops and branches carry its `flow`.
"""

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import float32
from tandem.framework.errors import InvalidArgumentError, OutOfRangeError
from tandem.framework.shape import TensorShape, as_shape
from tandem.framework.spec import TypeSpec
from tandem.ops.sizes import as_int32


class TensorArray:
    """A list of tensors of one dtype."""

    def __init__(
        self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None,
        flow=None, infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None,
    ):  # fmt: skip
        if handle is not None and flow is None:
            raise ValueError("TensorArray: a flow is wanted, not a handle.")
        self._dtype = as_dtype(dtype)
        self._dynamic_size = bool(dynamic_size)
        self._clear_after_read = clear_after_read is None or bool(clear_after_read)
        self._infer_shape = bool(infer_shape)
        # Shared by all arrays made from this one: what a loop's body writes is known after the loop.
        self._element = [as_shape(element_shape)]
        self._read = set()
        self._rows = None  # how many elements there are for ever, where that is known
        if flow is None:
            size = as_int32(0 if size is None else size)
            known = None if self._dynamic_size else _core.static_value(size)
            self._rows = None if known is None or known < 0 else int(known)
            if _core.executing_eagerly():
                size = max(int(size), 0)  # a list in Python; a function's is refused when it is used
            flow = execute("TensorListReserve", size, element_dtype=self._dtype, known_shape=self._element[0])
        self._flow = flow

    dtype = property(lambda self: self._dtype)
    dynamic_size = property(lambda self: self._dynamic_size)
    element_shape = property(lambda self: self._element[0])
    flow = property(lambda self: self._flow)
    handle = property(lambda self: None)

    @property
    def _type_spec(self):
        return TensorArraySpec(self._element[0], self._dtype, self._dynamic_size, self._infer_shape)

    # ---- As part of arguments, results and loop variables

    def _tf_components(self):
        return (self._flow,)

    def _tf_rebuild(self, parts):
        return self._with(parts[0])

    def _with(self, flow):
        other = object.__new__(TensorArray)
        other.__dict__.update(self.__dict__)
        other._flow = flow
        other._read = set(self._read)
        return other

    def identity(self):
        return self._with(self._flow)

    def grad(self, source, flow=None, name=None):
        raise NotImplementedError("TensorArray.grad is not available in Tandem: use tf.GradientTape.")

    def size(self, name=None):
        return execute("TensorListLength", self._flow)

    def close(self, name=None):
        """Frees the elements."""
        self._flow = execute("TensorListReserve", 0, element_dtype=self._dtype, known_shape=self._element[0])

    # ---- Elements

    def _attributes(self):
        return {"element_dtype": self._dtype, "known_shape": self._element[0]}

    def _value(self, value):
        value = convert_to_tensor(value)
        if value.dtype != self._dtype:
            raise InvalidArgumentError(
                None, None,
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {value.dtype.name}",
            )  # fmt: skip
        return value

    def _merge(self, shape):
        if not self._element[0].is_compatible_with(shape):
            raise ValueError(f"Incompatible shape for value ({shape}), expected ({self._element[0]})")
        if self._infer_shape:
            self._element[0] = self._element[0].merge_with(shape)

    def _check_index(self, index, writing):
        """Eagerly, TensorFlow's words for an index that is out of range."""
        if not _core.executing_eagerly():
            return
        known, size = int(index), int(self.size())
        if known < 0 or (known >= size and not (writing and self._dynamic_size)):
            if writing:
                text = f"Tried to write to index {known} but array is not resizeable and size is: {size}"
            else:
                text = f"Tried to read from index {known} but array size is: {size}"
            raise OutOfRangeError(None, None, text)

    def write(self, index, value, name=None):
        value = self._value(value if isinstance(value, _core.Tensor) else convert_to_tensor(value, self._dtype))
        self._merge(value.shape)
        index = convert_sizes(index, None, "int32")
        self._check_index(index, True)
        flow = execute(
            "TensorListSetItem", self._flow, as_int32(index, "index"), value, resize_if_index_out_of_bounds=self._dynamic_size
        )
        return self._with(flow)

    def read(self, index, name=None):
        index = convert_sizes(index, None, "int32")
        self._check_index(index, False)
        if _core.executing_eagerly() and self._clear_after_read:
            known = int(index)
            if known in self._read:
                raise InvalidArgumentError(
                    None, None,
                    f"Could not read index {known} twice because it was cleared after a previous read "
                    "(perhaps try setting clear_after_read = false?)",
                )  # fmt: skip
            self._read.add(known)
        return execute("TensorListGetItem", self._flow, as_int32(index, "index"), None, **self._attributes())

    def stack(self, name=None):
        stacked = execute("TensorListStack", self._flow, None, **self._attributes())
        if self._rows is not None and stacked.shape.rank is not None and not self._dynamic_size:
            stacked.set_shape([self._rows, *stacked.shape.as_list()[1:]])
        return stacked

    def gather(self, indices, name=None):
        return execute("TensorListGather", self._flow, as_int32(indices, "indices"), None, **self._attributes())

    def concat(self, name=None):
        return execute("TensorListConcat", self._flow, None, **self._attributes())[0]

    def unstack(self, value, name=None):
        value = self._value(value if isinstance(value, _core.Tensor) else convert_to_tensor(value, self._dtype))
        if value.shape.rank == 0:
            raise ValueError("TensorArray.unstack: a scalar has no rows.")
        self._merge(_rows(value.shape))
        other = self._with(execute("TensorListFromTensor", value))
        other._rows = value.shape[0] if value.shape.rank is not None else None
        return other

    def scatter(self, indices, value, name=None):
        value = self._value(value if isinstance(value, _core.Tensor) else convert_to_tensor(value, self._dtype))
        self._merge(_rows(value.shape))
        if _core.executing_eagerly():
            for index in convert_sizes(indices, None, "int32").numpy().reshape(-1):
                self._check_index(index, True)
        flow = execute(
            "TensorListScatterIntoExistingList", self._flow, value, as_int32(indices, "indices"),
            known_shape=self._element[0],
        )  # fmt: skip
        return self._with(flow)

    def split(self, value, lengths, name=None):
        value = self._value(value if isinstance(value, _core.Tensor) else convert_to_tensor(value, self._dtype))
        shape = value.shape
        if shape.rank:
            self._merge(TensorShape([None]).concatenate(shape[1:]))
        lengths = execute("Cast", convert_to_tensor(lengths), dtype="int64")
        return self._with(execute("TensorListSplit", value, lengths))

    def __len__(self):
        return int(self.size())

    def __repr__(self):
        return f"<tf.TensorArray dtype={self._dtype.name} element_shape={self._element[0]}>"



def _rows(shape):
    return TensorShape(None) if shape.rank is None else shape[1:]


class TensorArraySpec(TypeSpec):
    """What a TensorArray is."""

    def __init__(self, element_shape=None, dtype=float32, dynamic_size=False, infer_shape=True):
        self.element_shape = as_shape(element_shape)
        self.dtype = as_dtype(dtype)
        self.dynamic_size = dynamic_size
        self.infer_shape = infer_shape

    @property
    def value_type(self):
        return TensorArray

    @classmethod
    def from_value(cls, value):
        return value._type_spec

    def is_compatible_with(self, other):
        other = other._type_spec if isinstance(other, TensorArray) else other
        return (
            isinstance(other, TensorArraySpec)
            and self.dtype == other.dtype
            and self.dynamic_size == other.dynamic_size
            and self.element_shape.is_compatible_with(other.element_shape)
        )

    def __eq__(self, other):
        return isinstance(other, TensorArraySpec) and self.__dict__ == other.__dict__

    def __hash__(self):
        return hash((self.dtype, self.dynamic_size))

    def __repr__(self):
        return (
            f"TensorArraySpec({self.element_shape!r}, {self.dtype!r}, {self.dynamic_size}, {self.infer_shape})"
        )
