"""Sums and the like of ragged tensors over any axes, and softmax of rows."""

from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import int32, int64
from tandem.framework.ragged import RaggedTensor

_SEGMENT = {
    "Sum": "UnsortedSegmentSum", "Max": "UnsortedSegmentMax", "Min": "UnsortedSegmentMin", "Prod": "UnsortedSegmentProd",
}  # fmt: skip


def reduce(op, value, axis=None, keepdims=False):
    """The reduction `op` of a ragged tensor; a dense tensor where no ragged dimension is left."""
    if op in ("Any", "All"):
        chosen = value.flat_values if op == "Any" else execute("LogicalNot", value.flat_values)
        count = reduce("Sum", value.with_flat_values(execute("Cast", chosen, dtype=int32)), axis, keepdims)
        return count > 0 if op == "Any" else count == 0
    if op == "Mean":
        ones = value.with_flat_values(execute("OnesLike", value.flat_values))
        return reduce("Sum", value, axis, keepdims) / reduce("Sum", ones, axis, keepdims)
    if isinstance(axis, (list, tuple)) and not axis:
        return value
    if axis is None:
        result = execute(op, value.flat_values)
        return execute("Reshape", result, [1] * value.shape.rank) if keepdims else result
    rank = value.shape.rank
    axes = sorted({a + rank if a < 0 else a for a in (axis if isinstance(axis, (list, tuple)) else [axis])}, reverse=True)
    if any(not 0 <= a < rank for a in axes):
        raise ValueError(f"axis {axis} is out of bounds for a tf.RaggedTensor of rank {rank}.")
    for one in axes:
        value = _reduced(op, value, one, keepdims)
    return value


def _reduced(op, value, axis, keepdims):
    if not isinstance(value, RaggedTensor):
        return execute(op, value, axis=[axis], keepdims=keepdims)
    if axis > 1:
        return value.with_values(_reduced(op, value.values, axis - 1, keepdims))
    if axis == 0:
        # Every row below the others: one row, whose elements are reduced.
        from tandem.framework.ragged_ops import expand_dims

        result = _rows(op, expand_dims(value, 0))
        return result if keepdims else _only_row(result)
    result = _rows(op, value)
    if not keepdims:
        return result
    from tandem.framework.ragged_ops import expand_dims

    return expand_dims(result, 1) if isinstance(result, RaggedTensor) else execute("ExpandDims", result, axis=1)


def _only_row(value):
    return value.values if isinstance(value, RaggedTensor) else value[0]


def _rows(op, value):
    """Of each row its elements as one: of numbers, of dense tensors or of rows of their own."""
    ids, rows, inner = value.value_rowids(), value.nrows(), value.values
    if not isinstance(inner, RaggedTensor):
        return execute(_SEGMENT[op], inner, ids, rows)
    # Element j of an inner row goes to place j of its outer row, which is as long as the longest.
    lengths = execute("Maximum", execute("UnsortedSegmentMax", inner.row_lengths(), ids, rows),
                      execute("ZerosLike", rows))  # fmt: skip
    made = RaggedTensor.from_row_lengths(execute("Fill", execute("Sum", lengths, keepdims=True), 0), lengths, validate=False)
    inner_ids = inner.value_rowids()
    starts = execute("GatherV2", made.row_starts(), execute("GatherV2", ids, inner_ids))
    from tandem.ops.array import range as range_

    count = execute("Cast", execute("Shape", inner_ids, out_type=int64)[0], dtype=inner_ids.dtype)
    offsets = range_(count) - execute("GatherV2", inner.row_starts(), inner_ids)
    if isinstance(inner.values, RaggedTensor):
        raise ValueError("An axis of a tf.RaggedTensor with two ragged dimensions below it is not reduced in Tandem.")
    flat = execute(_SEGMENT[op], inner.values, starts + offsets, execute("Sum", lengths))
    return made.with_values(flat)


def softmax(value, axis=None):
    """Softmax over the last dimension."""
    rank = value.shape.rank
    axis = -1 if axis is None else axis
    if axis not in (-1, rank - 1):
        raise ValueError("tf.nn.softmax of a ragged tensor is over the last axis in Tandem.")
    if value.flat_values.shape.rank > 1:
        return value.with_flat_values(execute("Softmax", value.flat_values, axis=-1))
    row = value
    while isinstance(row.values, RaggedTensor):
        row = row.values
    ids, rows = row.value_rowids(), row.nrows()
    top = execute("GatherV2", execute("UnsortedSegmentMax", row.values, ids, rows), ids)
    powers = execute("Exp", row.values - execute("StopGradient", top))
    sums = execute("GatherV2", execute("UnsortedSegmentSum", powers, ids, rows), ids)
    return value.with_flat_values(powers / sums)


def count_of(value, out_type):
    return execute("Cast", execute("Size", value.flat_values), dtype=out_type or int32)


def rank_of(value):
    return convert_to_tensor(value.shape.rank, int32)
