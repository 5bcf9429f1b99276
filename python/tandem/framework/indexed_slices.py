"""tf.IndexedSlices: some rows of a tensor whose other rows are zero."""

from tandem import _core
from tandem.framework.shape import TensorShape
from tandem.framework.spec import IndexedSlicesSpec
from tandem.framework.types import CompositeTensor


class IndexedSlices(CompositeTensor):
    """Rows `indices` of a tensor of shape `dense_shape` have `values`; equal indices add up."""

    def __init__(self, values, indices, dense_shape=None):
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    values = property(lambda self: self._values)
    indices = property(lambda self: self._indices)
    dense_shape = property(lambda self: self._dense_shape)
    dtype = property(lambda self: self._values.dtype)
    device = property(lambda self: self._values.device)

    @property
    def shape(self):
        if self._dense_shape is None:
            return TensorShape(None)
        known = _core.static_value(_core.convert_to_tensor(self._dense_shape))
        return TensorShape(None) if known is None else TensorShape(known.tolist())

    @property
    def _type_spec(self):
        return IndexedSlicesSpec(self.shape, self.dtype, self._indices.dtype)

    def consumers(self):
        return []

    def _cast_values(self, dtype):
        return IndexedSlices(_core.execute("Cast", self._values, dtype=dtype), self._indices, self._dense_shape)

    def __neg__(self):
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __tf_tensor__(self, dtype=None, name=None):
        if self._dense_shape is None:
            raise ValueError(
                "Tensor conversion requested for IndexedSlices without dense_shape: " + repr(self)
            )
        dense = _core.execute("IndexedSlicesToDense", self._values, self._indices, self._dense_shape)
        return _core.convert_to_tensor(dense, dtype)

    def __str__(self):
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape!s}"
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{shape})"
