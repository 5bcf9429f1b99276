"""Components of elements that are made of several tensors: ragged and sparse ones, and users' own types."""

from tandem import _core
from tandem.framework import composites
from tandem.framework.ragged import RaggedTensor, RaggedTensorSpec
from tandem.framework.sparse import SparseTensorSpec

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
        return spec._tf_rebuild(tensors)


class _Extension:
    """Values of a user's own type (tf.experimental.ExtensionType)."""

    @staticmethod
    def components(spec):
        return [(leaf.dtype, leaf.shape) for leaf in composites.leaves(spec)]

    @staticmethod
    def parts(value):
        return composites.leaves(value)

    @staticmethod
    def value(spec, tensors):
        return composites.unpack(composites.number(spec, []), tensors)

    @staticmethod
    def resized(spec, components):
        """The spec of elements with other components: those of a batch, or of what a batch consists of."""
        before = composites.leaves(spec)
        gained = {_rank_change(leaf, shape) for leaf, (_, shape) in zip(before, components)} - {None}
        if gained == {1}:
            return spec._batch(components[0][1][0])
        return spec._unbatch() if gained == {-1} else spec


def _rank_change(leaf, shape):
    if leaf.shape.rank is None or shape.rank is None:
        return None
    return shape.rank - leaf.shape.rank


def _shape(dims):
    from tandem.framework.shape import as_shape

    return as_shape(dims)


_KINDS = ((RaggedTensorSpec, _Ragged), (SparseTensorSpec, _Sparse))


def kind_of(spec):
    for cls, kind in _KINDS:
        if isinstance(spec, cls):
            return kind
    if hasattr(type(spec), "_tf_value_type"):
        return _Extension
    raise TypeError(f"Elements of datasets cannot have components of {spec!r}.")
