"""tf.SparseTensor as a value that can be made, looked at and turned into a dense tensor, and back.

Tandem computes with dense tensors only: no other op takes one. Ragged tensors cannot be made at all.
"""

from tandem import _core
from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.shape import TensorShape, as_shape
from tandem.framework.spec import TypeSpec
from tandem.framework.types import CompositeTensor


class SparseTensor(CompositeTensor):
    """Values at some coordinates; all other elements are zero."""

    def __init__(self, indices, values, dense_shape):
        self._indices = convert_to_tensor(indices, "int64")
        self._values = convert_to_tensor(values)
        self._dense_shape = convert_to_tensor(dense_shape, "int64")
        for tensor, rank, what in ((self._indices, 2, "indices"), (self._values, 1, "values")):
            if tensor.shape.rank not in (None, rank):
                raise ValueError(f"`{what}` must have rank {rank}, got shape {tensor.shape}")

    indices = property(lambda self: self._indices)
    values = property(lambda self: self._values)
    dense_shape = property(lambda self: self._dense_shape)
    dtype = property(lambda self: self._values.dtype)

    @property
    def shape(self):
        known = _core.static_value(self._dense_shape)
        return TensorShape(None) if known is None else TensorShape(known.tolist())

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        self.shape.assert_is_compatible_with(shape)

    def with_values(self, new_values):
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def _cast_values(self, dtype):
        return self.with_values(execute("Cast", self._values, dtype=as_dtype(dtype)))

    @property
    def _type_spec(self):
        return SparseTensorSpec(self.shape, self.dtype)

    def __repr__(self):
        return f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"


def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """The dense tensor of a sparse one."""
    fill = convert_to_tensor(0 if default_value is None else default_value, sp_input.dtype)
    background = execute("Fill", sp_input.dense_shape, fill)
    return execute("TensorScatterUpdate", background, sp_input.indices, sp_input.values)


def from_dense(tensor, name=None):
    """The elements of a dense tensor that are not zero."""
    tensor = convert_to_tensor(tensor)
    indices = execute("Where", execute("NotEqual", tensor, convert_to_tensor(0, tensor.dtype)))
    return SparseTensor(indices, execute("GatherNd", tensor, indices), execute("Shape", tensor, out_type="int64"))


class SparseTensorSpec(TypeSpec):
    """Shape and dtype of a sparse tensor."""

    def __init__(self, shape=None, dtype=None):
        self.shape = as_shape(shape)
        self.dtype = as_dtype("float32" if dtype is None else dtype)

    def __eq__(self, other):
        return isinstance(other, SparseTensorSpec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))

    def __repr__(self):
        return f"SparseTensorSpec({self.shape}, {self.dtype!r})"


class RaggedTensor:
    """Tandem has no ragged tensors; the class is there for isinstance."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("tf.RaggedTensor is not available in Tandem: ragged tensors are not supported.")


class RaggedTensorSpec(TypeSpec):
    """Tandem has no ragged tensors; the class is there for isinstance."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("tf.RaggedTensorSpec is not available in Tandem: ragged tensors are not supported.")
