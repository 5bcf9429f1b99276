"""Components of elements that are made of several tensors: ragged and sparse ones."""

from tandem import _core
from tandem.framework.ragged import RaggedTensor, RaggedTensorSpec
from tandem.framework.sparse import SparseTensor, SparseTensorSpec

_INT64 = _core.as_dtype("int64")


class _Ragged:
    @staticmethod
    def components(spec):
        rank = spec.ragged_rank
        inner = None if spec.shape.rank is None else [None, *spec.shape.as_list()[rank + 1 :]]
        return [(spec.dtype, _shape(inner)), *[(spec.row_splits_dtype, _shape([None]))] * rank]

    @staticmethod
    def parts(value):
        return [value.flat_values, *value.nested_row_splits]

    @staticmethod
    def value(spec, tensors):
        if not spec.ragged_rank:
            return tensors[0]
        return RaggedTensor.from_nested_row_splits(tensors[0], tensors[1:], validate=False)


class _Sparse:
    @staticmethod
    def components(spec):
        rank = spec.shape.rank
        return [(_INT64, _shape([None, rank])), (spec.dtype, _shape([None])), (_INT64, _shape([rank]))]

    @staticmethod
    def parts(value):
        return [value.indices, value.values, value.dense_shape]

    @staticmethod
    def value(spec, tensors):
        return SparseTensor(*tensors)


def _shape(dims):
    from tandem.framework.shape import as_shape

    return as_shape(dims)


_KINDS = ((RaggedTensorSpec, _Ragged), (SparseTensorSpec, _Sparse))


def kind_of(spec):
    for cls, kind in _KINDS:
        if isinstance(spec, cls):
            return kind
    raise TypeError(f"Elements of datasets cannot have components of {spec!r}.")
