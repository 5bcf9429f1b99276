"""tf.ragged: making ragged tensors and computing with their values."""

import builtins

import numpy as np

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import int32, int64
from tandem.framework.ragged import RaggedTensor, stack_rows


def constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=int64):
    """A ragged tensor from nested lists."""
    pylist = _as_lists(pylist)
    if not isinstance(pylist, list):
        return convert_to_tensor(pylist, dtype)
    depth = _depth(pylist)
    if inner_shape is not None:
        levels = depth - len(inner_shape) - 1 if ragged_rank is None else ragged_rank
    else:
        levels = max(depth - 1, 0) if ragged_rank is None else ragged_rank
    splits, level = [], pylist
    for _ in builtins.range(levels):
        for row in level:
            if not isinstance(row, list):
                raise ValueError(f"pylist={pylist} has scalar values depth {depth - 1}, but ragged_rank={levels} requires more")
        splits.append(np.cumsum([0] + [len(row) for row in level]))
        level = [item for row in level for item in row]
    flat = convert_to_tensor(level, None if dtype is None else as_dtype(dtype))
    if not level and dtype is None:
        flat = convert_to_tensor([], "float32")
    kind = as_dtype(row_splits_dtype)
    rows = [convert_to_tensor(s.astype(kind.as_numpy_dtype)) for s in splits]
    return RaggedTensor.from_nested_row_splits(flat, rows, validate=False) if rows else flat


def _as_lists(value):
    if isinstance(value, (list, tuple)):
        return [_as_lists(v) for v in value]
    return _as_lists(value.tolist()) if isinstance(value, np.ndarray) else value


def _depth(value):
    if not isinstance(value, list):
        return 0
    depths = {_depth(v) for v in value}
    inner = max(depths, default=0)
    if len({d for v, d in ((v, _depth(v)) for v in value) if not (isinstance(v, list) and _is_empty(v))}) > 1:
        raise ValueError(f"all scalar values must have the same nesting depth: {value}")
    return 1 + inner


def _is_empty(value):
    return all(isinstance(v, list) and _is_empty(v) for v in value)


def map_flat_values(op, *args, **kwargs):
    """Applies a function to the values of ragged tensors."""
    found = [a for a in (*args, *kwargs.values()) if isinstance(a, RaggedTensor)]
    if not found:
        return op(*args, **kwargs)
    flat = lambda a: a.flat_values if isinstance(a, RaggedTensor) else a  # noqa: E731
    result = op(*map(flat, args), **{k: flat(v) for k, v in kwargs.items()})
    return found[0].with_flat_values(result)


def range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=int64):
    """Rows of evenly spaced numbers."""
    if limits is None:
        starts, limits = 0, starts
    starts, limits, deltas = np.broadcast_arrays(*(np.asarray(v) for v in (starts, limits, deltas)))
    rows = [np.arange(a, b, d) for a, b, d in zip(np.atleast_1d(starts), np.atleast_1d(limits), np.atleast_1d(deltas))]
    kind = as_dtype(dtype) if dtype is not None else (int32 if starts.dtype.kind in "iu" else as_dtype("float32"))
    values = convert_to_tensor(np.concatenate(rows).astype(kind.as_numpy_dtype))
    lengths = np.array([len(r) for r in rows], as_dtype(row_splits_dtype).as_numpy_dtype)
    return RaggedTensor.from_row_lengths(values, lengths, validate=False)


def stack(values, axis=0, name=None):
    """Tensors as the rows of a ragged tensor."""
    if axis != 0:
        raise NotImplementedError("tf.ragged.stack stacks along axis 0 in Tandem.")
    return stack_rows([v if isinstance(v, RaggedTensor) else convert_to_tensor(v) for v in values])


def boolean_mask(data, mask, name=None):
    """The elements where a mask holds, row by row."""
    if isinstance(mask, RaggedTensor):
        mask = mask.with_flat_values(convert_to_tensor(mask.flat_values, "bool"))
        data = data if isinstance(data, RaggedTensor) else RaggedTensor.from_tensor(data)
        keep = execute("Cast", mask.flat_values, dtype=int64)
        ids = mask.value_rowids()
        kept = execute("Where", mask.flat_values)[:, 0]
        counts = execute("UnsortedSegmentSum", keep, ids, mask.nrows())
        return RaggedTensor.from_row_lengths(execute("GatherV2", data.flat_values, kept), counts, validate=False)
    mask = convert_to_tensor(mask, "bool")
    if isinstance(data, RaggedTensor):
        return data._rows(np.flatnonzero(mask.numpy()))
    data = convert_to_tensor(data)
    if mask.shape.rank == 1:
        from tandem.ops.array import boolean_mask as dense_mask

        return dense_mask(data, mask)
    counts = execute("Sum", execute("Cast", mask, dtype=int64), axis=-1)
    return RaggedTensor.from_row_lengths(execute("GatherNd", data, execute("Where", mask)), counts, validate=False)


def row_splits_to_segment_ids(splits, name=None, out_type=None):
    """The row of every value."""
    splits = splits if hasattr(splits, "dtype") else convert_to_tensor(splits, int64)
    splits = convert_to_tensor(splits)
    splits = splits if splits.dtype in (int32, int64) else execute("Cast", splits, dtype=int64)
    rows = RaggedTensor.from_row_splits(execute("Range", execute("ZerosLike", splits[-1]), splits[-1], 1), splits)
    ids = rows.value_rowids()
    return ids if out_type is None else execute("Cast", ids, dtype=as_dtype(out_type))


def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name=None):
    """Where the values of every row begin."""
    ids = convert_to_tensor(segment_ids)
    splits = RaggedTensor.from_value_rowids(ids, ids, num_segments).row_splits
    return execute("Cast", splits, dtype=as_dtype(out_type or int64))


def stack_dynamic_partitions(data, partitions, num_partitions, name=None):
    """The values of each partition as a row."""
    data, partitions = convert_to_tensor(data), convert_to_tensor(partitions)
    order = execute("ArgSort", execute("Reshape", partitions, [-1]), stable=True)
    ids = execute("GatherV2", execute("Reshape", partitions, [-1]), order)
    flat = execute("Reshape", data, [-1, *data.shape.as_list()[partitions.shape.rank :]])
    rows = execute("Cast", ids, dtype=int64)
    return RaggedTensor.from_value_rowids(execute("GatherV2", flat, order), rows, num_partitions, validate=False)
