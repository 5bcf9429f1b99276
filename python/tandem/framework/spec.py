"""tf.TensorSpec and its relatives: what is known about a value before it is there."""

from tandem import _core
from tandem.framework.dtypes import float32, int64
from tandem.framework.shape import TensorShape, as_shape


def ranks_only(shape):
    """A shape of the same number of dimensions, none of which is known."""
    return shape if shape.rank is None else TensorShape([None] * shape.rank)


class TypeSpec:
    """Base of specifications."""

    def is_compatible_with(self, value):
        raise NotImplementedError(f"{type(self).__name__}.is_compatible_with")

    def most_specific_compatible_type(self, other):
        """The spec that takes in the values of both; ValueError where there is none."""
        if self != other:
            self._refuse(other)
        return self

    def _with_tensor_ranks_only(self):
        """The same with nothing known of its shape but the number of dimensions."""
        return self

    def _refuse(self, other):
        raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")

    def __ne__(self, other):
        return not self == other


class TensorSpec(TypeSpec):
    """Shape, dtype and perhaps a name of a tensor."""

    __slots__ = ("_shape", "_dtype", "_name")

    def __init__(self, shape, dtype=float32, name=None):
        self._shape = as_shape(shape)
        self._dtype = _core.as_dtype("float32" if dtype is None else dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec, name=None):
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor, name=None):
        return cls(tensor.shape, tensor.dtype, name)

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def name(self):
        return self._name

    @property
    def value_type(self):
        return _core.Tensor

    def _serialize(self):
        return self._shape, self._dtype, self._name

    @classmethod
    def _deserialize(cls, encoded):
        return cls(*encoded)

    def _with_tensor_ranks_only(self):
        return TensorSpec(ranks_only(self._shape), self._dtype, self._name)

    def is_compatible_with(self, spec_or_value):
        return self._dtype == spec_or_value.dtype and self._shape.is_compatible_with(spec_or_value.shape)

    def most_specific_compatible_type(self, other):
        if not isinstance(other, TensorSpec) or self._dtype != other.dtype:
            self._refuse(other)
        return TensorSpec(self._shape.most_specific_compatible_shape(other.shape), self._dtype)

    def __eq__(self, other):
        return (
            isinstance(other, TensorSpec)
            and (self._shape, self._dtype, self._name) == (other._shape, other._dtype, other._name)
        )

    def __hash__(self):
        return hash((self._shape, self._dtype))

    def __reduce__(self):
        return TensorSpec, (self._shape, self._dtype, self._name)

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class IndexedSlicesSpec(TypeSpec):
    """Specification of tf.IndexedSlices."""

    def __init__(self, shape=None, dtype=float32, indices_dtype=int64, dense_shape_dtype=None, indices_shape=None):
        self.shape = as_shape(shape)
        self.dtype = _core.as_dtype("float32" if dtype is None else dtype)
        self.indices_dtype = _core.as_dtype("int64" if indices_dtype is None else indices_dtype)
        self.dense_shape_dtype = dense_shape_dtype
        self.indices_shape = TensorShape([None] if indices_shape is None else indices_shape)

    def __eq__(self, other):
        return isinstance(other, IndexedSlicesSpec) and self.__dict__ == other.__dict__

    def __hash__(self):
        return hash((self.shape, self.dtype))

    def __repr__(self):
        return f"IndexedSlicesSpec(shape={self.shape}, dtype={self.dtype!r})"


def type_spec_from_value(value):
    if hasattr(value, "_type_spec"):
        return value._type_spec
    if isinstance(value, (_core.Tensor, _core.VariableBase)):
        return TensorSpec.from_tensor(value)
    try:
        return TensorSpec.from_tensor(_core.convert_to_tensor(value))
    except (TypeError, ValueError):
        raise TypeError(f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}") from None
