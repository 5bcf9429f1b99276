"""tf.ragged: making ragged tensors and computing with their values."""

import builtins

import numpy as np

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import int32, int64
from tandem.framework import ragged_ops
from tandem.framework.ragged import RaggedTensor
from tandem.framework.ragged_operators import assert_same_rows
from tandem.ops import check
from tandem.ops.check import assert_equal, assert_none_equal
from tandem.ops.sizes import of_one_dtype


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
    for other in found[1:]:
        assert_same_rows(found[0], other)
    flat = lambda a: a.flat_values if isinstance(a, RaggedTensor) else a  # noqa: E731
    result = op(*map(flat, args), **{k: flat(v) for k, v in kwargs.items()})
    return found[0].with_flat_values(result)


# Of arguments of several types the last one here is that of the result.
_RANGE_TYPES = ("int32", "int64", "float32", "float64")


def range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=int64):
    """Rows of evenly spaced numbers."""
    if limits is None:
        starts, limits = 0, starts
    given = [convert_to_tensor(v, None if hasattr(v, "dtype") else dtype) for v in (starts, limits, deltas)]
    kinds = [v.dtype.name for v in given]
    kind = as_dtype(dtype or max(kinds, key=lambda k: _RANGE_TYPES.index(k) if k in _RANGE_TYPES else -1))
    starts, limits, deltas = (execute("Cast", v, dtype=kind) for v in given)
    assert_none_equal(deltas, convert_to_tensor(0, kind), message="Requires delta != 0")
    # All of one shape; three scalars are one row.
    none = execute("Reshape", execute("ZerosLike", starts + limits + deltas), [-1])
    starts, limits, deltas = starts + none, limits + none, deltas + none
    first, last, step = (execute("Cast", v, dtype="float64") for v in (starts, limits, deltas))
    about = execute("Ceil", (last - first) / step)
    if not kind.is_floating:
        check.assert_less(execute("Abs", last - first), 2.0**63, "limit - start does not fit in 64 bits")
    check.assert_less(about, 2.0**62, "Requires ((limit - start) / delta) <= 2**62")
    about = execute("Maximum", about, execute("ZerosLike", about))
    most = 2.0**31 if as_dtype(row_splits_dtype) is int32 else 2.0**62
    check.assert_less(execute("Sum", about), most, "The total range size overflowed.")
    # In 64 bits where floats would round; what is no count at all has been refused.
    if kind.is_floating:
        counts = execute("Cast", about, dtype=int64)
    else:
        low, high, by = (execute("Cast", v, dtype=int64) for v in (starts, limits, deltas))
        counts = -execute("FloorDiv", low - high, by)
    counts = execute("Maximum", counts, execute("ZerosLike", counts))
    turn = execute("Cast", ragged_ops.places(execute("ZerosLike", counts), counts), dtype=kind)
    starts, deltas = (execute("Repeat", v, counts, axis=0) for v in (starts, deltas))
    lengths = execute("Cast", counts, dtype=as_dtype(row_splits_dtype))
    return RaggedTensor.from_row_lengths(starts + turn * deltas, lengths, validate=False)


def stack(values, axis=0, name=None):
    """Tensors, of which dimensions may differ in size, along a new axis."""
    values = [v if isinstance(v, RaggedTensor) else convert_to_tensor(v) for v in values]
    if any(isinstance(v, RaggedTensor) for v in values):
        return ragged_ops.stack(values, axis)
    rank = values[0].shape.rank
    if rank is None:
        raise ValueError("tf.ragged.stack: the rank of the tensors must be known, it decides what is ragged.")
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis = {axis} out of bounds: expected {-rank - 1} <= axis < {rank + 1}")
    if axis in (rank, -1):
        return execute("Pack", values, axis=axis)
    if rank == 1:
        lengths = execute("Pack", [execute("Shape", v, out_type=int64)[0] for v in values], axis=0)
        flat = execute("ConcatV2", values, axis=0) if len(values) > 1 else values[0]
        return RaggedTensor.from_row_lengths(flat, lengths, validate=False)
    return ragged_ops.stack([ragged_ops.dense_to_ragged(v, 1, int64) for v in values], axis)


def boolean_mask(data, mask, name=None):
    """The elements where a mask holds, row by row."""
    if not isinstance(mask, RaggedTensor):
        mask = convert_to_tensor(mask, "bool")
        if mask.shape.rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if mask.shape.rank == 1:
            kept = execute("Where", mask)[:, 0]
            data = data if isinstance(data, RaggedTensor) else convert_to_tensor(data)
            rows = data.nrows(int64) if isinstance(data, RaggedTensor) else execute("Shape", data, out_type=int64)[0]
            assert_equal(rows, execute("Size", mask, out_type=int64), message="A mask has another number of rows.")
            return ragged_ops.take_rows(data, kept)
        mask = RaggedTensor.from_tensor(mask, ragged_rank=mask.shape.rank - 1)
    if not isinstance(data, RaggedTensor):
        data = convert_to_tensor(data)
        if data.shape.rank is None:
            data = _with_splits_of(mask, data)
        else:
            data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank)
    assert_equal(execute("Cast", data.row_splits, dtype=int64), execute("Cast", mask.row_splits, dtype=int64),
                 message="Inputs must have identical ragged splits")  # fmt: skip
    if mask.shape.rank > 2:
        return data.with_values(boolean_mask(data.values, mask.values))
    marks = convert_to_tensor(mask.values, "bool")
    counts = execute("UnsortedSegmentSum", execute("Cast", marks, dtype=mask.row_splits.dtype), mask.value_rowids(), mask.nrows())
    return RaggedTensor.from_row_lengths(boolean_mask(data.values, marks), counts, validate=False)


def _with_splits_of(mask, data):
    """The rows of a tensor of unknown rank, which is as large as the mask in all dimensions of that."""
    inner, sizes = mask.ragged_rank + 1, execute("Shape", data, out_type=int64)
    assert_equal(execute("Prod", sizes[:inner], axis=[0]), execute("Size", mask.flat_values, out_type=int64),
                 message="Inputs must have identical ragged splits")  # fmt: skip
    whole = execute("ConcatV2", [execute("Prod", sizes[:inner], axis=[0], keepdims=True), sizes[inner:]], axis=0)
    return mask.with_flat_values(execute("Reshape", data, whole))


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
    if num_segments is not None:
        ids, num_segments = of_one_dtype(ids, num_segments)
    splits = RaggedTensor.from_value_rowids(ids, ids, num_segments).row_splits
    return execute("Cast", splits, dtype=as_dtype(out_type or int64))


def stack_dynamic_partitions(data, partitions, num_partitions, name=None):
    """The values of each partition as a row."""
    data = convert_to_tensor(data)
    partitions, num_partitions = of_one_dtype(partitions, num_partitions)
    data.shape[: partitions.shape.rank].assert_is_compatible_with(partitions.shape)
    if not data.shape[: partitions.shape.rank].is_fully_defined() or not partitions.shape.is_fully_defined():
        sizes = [execute("Shape", t, out_type=int64) for t in (data, partitions)]
        check.assert_equal(sizes[0][: partitions.shape.rank], sizes[1], "data must begin with the shape of partitions.")
    check.assert_non_negative(partitions, "partitions must be non-negative.")
    check.assert_less(partitions, num_partitions, "partitions must be less than num_partitions")
    order = execute("ArgSort", execute("Reshape", partitions, [-1]), stable=True)
    ids = execute("GatherV2", execute("Reshape", partitions, [-1]), order)
    flat = execute("Reshape", data, [-1, *data.shape.as_list()[partitions.shape.rank :]])
    return RaggedTensor.from_value_rowids(execute("GatherV2", flat, order), ids, num_partitions, validate=False)
