"""batch() of elements with ragged and sparse components: taken apart into tensors whose first dimension alone may differ,
joined row after row, and put together again."""

from tandem import _core
from tandem._core import execute
from tandem.framework.ragged import RaggedTensor, RaggedTensorSpec
from tandem.framework.sparse import SparseTensor, SparseTensorSpec
from tandem.framework.spec import TensorSpec
from tandem.pipeline import structure as nest

_INT64 = _core.as_dtype("int64")


def takes(structure):
    """Whether all components are dense, ragged or sparse ones of known rank, or None."""
    kinds = (TensorSpec, RaggedTensorSpec, SparseTensorSpec)
    return all(
        isinstance(leaf, nest.NoneTensorSpec) or (isinstance(leaf, kinds) and leaf.shape.rank is not None)
        for leaf in structure.leaves
    )


def batched(dataset, batch_size, drop_remainder):
    specs, element_spec = dataset._structure.leaves, dataset.element_spec
    present = [spec for spec in specs if not isinstance(spec, nest.NoneTensorSpec)]

    def apart(*element):
        leaves = nest.flatten(element if type(element_spec) is tuple else element[0])
        return tuple(part for leaf, spec in zip(leaves, specs) for part in _parts(leaf, spec))

    def together(*parts):
        rest = iter(parts)
        made = [None if isinstance(s, nest.NoneTensorSpec) else _joined(s, [next(rest) for _ in _grows(s)]) for s in specs]
        return nest.pack(element_spec, iter(made))

    parts = dataset.map(apart)
    grows = [flag for spec in present for flag in _grows(spec)]
    rows = int(batch_size) if drop_remainder else None
    leaves = []
    for part, flag in zip(parts._structure.leaves, grows):
        shape = [rows, None, *part.shape.as_list()[1:]] if flag else [rows, *part.shape.as_list()]
        leaves.append(RaggedTensorSpec(shape, part.dtype, 1, _INT64) if flag else TensorSpec(shape, part.dtype))
    core = _core.data.ragged_batch(parts._core, batch_size, bool(drop_remainder), grows)
    whole = dataset._like(core, "_BatchDataset", nest.Structure(tuple(leaves))).map(together)
    spec = nest.pack(element_spec, iter([_spec_of_batch(spec, rows) for spec in specs]))
    return dataset._like(whole._core, "_BatchDataset", nest.Structure(spec))


def _grows(spec):
    """For each tensor that a component is taken apart into: whether its first dimension may differ."""
    if isinstance(spec, RaggedTensorSpec):
        return [True] * (1 + spec.ragged_rank)
    return [True, True, False] if isinstance(spec, SparseTensorSpec) else [False]


def _parts(leaf, spec):
    if isinstance(spec, nest.NoneTensorSpec):
        return []
    if isinstance(leaf, SparseTensor):
        return [leaf.indices, leaf.values, leaf.dense_shape]
    if isinstance(leaf, RaggedTensor):
        return [leaf.flat_values, *(execute("Cast", n, dtype=_INT64) for n in leaf.nested_row_lengths())]
    return [leaf]


def _joined(spec, parts):
    if isinstance(spec, SparseTensorSpec):
        indices, values, shapes = parts
        numbers = execute("ExpandDims", indices.value_rowids(), axis=1)
        size = execute("Shape", shapes, out_type=_INT64)[:1]
        return SparseTensor(execute("ConcatV2", [numbers, indices.flat_values], axis=1), values.flat_values,
                            execute("ConcatV2", [size, execute("Max", shapes, axis=0)], axis=0))  # fmt: skip
    if not isinstance(spec, RaggedTensorSpec):
        return parts[0]
    values, *lengths = parts
    if lengths:
        rows = [lengths[0].row_lengths(), *(part.flat_values for part in lengths)]
        values = RaggedTensor.from_nested_row_lengths(values.flat_values, rows, validate=False)
    return values.with_row_splits_dtype(spec.row_splits_dtype)


def _spec_of_batch(spec, rows):
    if isinstance(spec, nest.NoneTensorSpec):
        return spec
    shape = [rows, *spec.shape.as_list()]
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
    return SparseTensorSpec(shape, spec.dtype) if isinstance(spec, SparseTensorSpec) else TensorSpec(shape, spec.dtype)
