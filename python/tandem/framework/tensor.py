"""Methods of tf.Tensor that are easier in Python, and references that can be hashed."""

import numpy as np

from tandem import _core

Tensor = _core.Tensor


class Reference:
    """Stands for a tensor or variable by identity: what `ref()` returns."""

    __slots__ = ("_object", "_key")

    def __init__(self, referenced, key):
        self._object = referenced
        self._key = key

    def deref(self):
        return self._object

    def __eq__(self, other):
        return isinstance(other, Reference) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def __repr__(self):
        return f"<Reference wrapping {self._object!r}>"


def _from_numpy(array, dtype):
    return _core.convert_to_tensor(array, dtype)


def _reduce(self):
    if self._symbolic:
        raise TypeError(f"A symbolic tensor cannot be pickled: {self!r}")
    return _from_numpy, (self.numpy(), self.dtype)


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    return _core.to_dlpack(self)


def _dlpack_device(self):
    if "GPU" in self.device:
        return (2, int(self.device.rpartition(":")[2]))
    return (1, 0)


def _item(self, *args):
    return np.asarray(self).item(*args)


def _eval(self, feed_dict=None, session=None):
    if self._symbolic and getattr(self.graph, "_open", False):
        from tandem.graph_mode.session import session_for

        return session_for(self.graph, session, "eval", "tensor").run(self, feed_dict)
    raise NotImplementedError(
        "eval is not supported when eager execution is enabled, is .numpy() what you're looking for?"
    )


def _of_graph(name):
    raise AttributeError(f"Tensor.{name} is undefined when eager execution is enabled.")


def _op(self):
    if not self._symbolic:
        _of_graph("op")
    from tandem.graph_mode.operation import tensor_op

    return tensor_op(self)


def _value_index(self):
    return _core.place_of(self)[1] if self._symbolic else _of_graph("value_index")


def _consumers(self):
    if not self._symbolic:
        raise NotImplementedError("Tensor.consumers is undefined when eager execution is enabled.")
    place = _core.place_of(self)
    from tandem.graph_mode.operation import operation

    graph = self.graph
    return [operation(graph, node) for node in range(place[0] + 1, len(graph)) if place in graph._describe(node)[3]]


def _copy(self):
    return self


def _to(self, device):
    with _core.DeviceScope(device):
        return _core.execute("Identity", self)


def _on_gpu(self, gpu_index=0):
    if gpu_index >= len(_core.config.list_logical_devices("GPU")):
        raise RuntimeError(f"GPU:{gpu_index} unknown device.")
    return _to(self, f"/device:GPU:{gpu_index}")


Tensor.__array_priority__ = 100
Tensor.__nonzero__ = Tensor.__bool__  # by its name of Python 2, which libraries copy
# Libraries give their own classes these operators.
Tensor.OVERLOADABLE_OPERATORS = frozenset(
    name for name in (
        *(f"__{r}{n}__" for n in "add sub mul truediv floordiv mod and or xor pow matmul".split() for r in ("", "r")),
        *(f"__{n}__" for n in "lt le gt ge ne eq getitem invert neg abs".split()),
    ) if hasattr(Tensor, name)
)  # fmt: skip
Tensor.ref = lambda self: Reference(self, self._id)
Tensor.experimental_ref = Tensor.ref
Tensor.get_shape = lambda self: self.shape
Tensor.set_shape = lambda self, shape: _core.set_shape(self, shape)
Tensor.__reduce__ = _reduce
Tensor.__dlpack__ = _dlpack
Tensor.__dlpack_device__ = _dlpack_device
Tensor.__copy__ = _copy
Tensor.__deepcopy__ = lambda self, memo: self
Tensor.__format__ = lambda self, spec: str(self) if self._symbolic else format(self.numpy(), spec)
Tensor.item = _item
Tensor.cpu = lambda self: _to(self, "/device:CPU:0")
Tensor.gpu = _on_gpu
Tensor.eval = _eval
# What libraries ask of eager tensors, though it is private.
_core.EagerTensor._numpy = lambda self: self.numpy()
_core.EagerTensor._rank = lambda self: self.shape.rank
_core.EagerTensor._num_elements = lambda self: self.shape.num_elements()
_core.EagerTensor._shape_as_list = lambda self: self.shape.as_list()
_core.EagerTensor._shape_tuple = lambda self: tuple(self.shape.as_list())
_core.EagerTensor._copy = lambda self, device_name=None: _to(self, device_name) if device_name else self
_core.EagerTensor._tensor_shape = property(lambda self: self.shape)
_core.EagerTensor.is_packed = False
Tensor.backing_device = property(lambda self: self.device)
Tensor.op = property(_op)
Tensor.value_index = property(_value_index)
Tensor.consumers = _consumers
Tensor.__tf_tensor__ = lambda self, dtype=None, name=None: _core.convert_to_tensor(self, dtype)


def _boolean_mask(tensor, mask):
    from tandem.ops.array import boolean_mask

    return boolean_mask(tensor, mask)


def _with_late_attributes(op, inputs, attributes):
    from tandem.ops import late_attributes

    return late_attributes.run(op, inputs, attributes)


_core.register_boolean_mask(_boolean_mask)
_core.register_late_attributes(_with_late_attributes)
