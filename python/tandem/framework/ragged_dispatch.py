"""What ops do that have a ragged input and are neither elementwise nor about shapes."""

from tandem._core import convert_to_tensor, execute
from tandem.framework import ragged_ops, ragged_reduce
from tandem.framework.ragged import RaggedTensor
from tandem.framework.ragged_operators import operand


def _select(inputs, attrs):
    """Elementwise, with rows of the same lengths or what is broadcast to them on all sides."""
    like = next(x for x in inputs if isinstance(x, RaggedTensor))
    dtypes = [x.dtype for x in inputs[1:] if hasattr(x, "dtype")]
    dtype = dtypes[0] if dtypes else convert_to_tensor(inputs[1]).dtype
    flat = [operand(inputs[0], like, "bool"), *(operand(x, like, dtype) for x in inputs[1:])]
    return like.with_flat_values(execute("SelectV2", *flat))


def _matmul(inputs, attrs):
    a, b = inputs[:2]
    if isinstance(b, RaggedTensor) or a.ragged_rank != 1 or attrs.get("transpose_a") or a.shape.rank != 3:
        raise ValueError("tf.matmul takes a ragged tensor [batch, (rows), columns] and a dense matrix in Tandem.")
    return a.with_values(execute("MatMul", a.values, b, transpose_b=attrs.get("transpose_b", False)))


def _join(inputs, attrs):
    values = inputs[0]
    like = next(x for x in values if isinstance(x, RaggedTensor))
    return like.with_flat_values(execute("StringJoin", [operand(x, like, "string") for x in values], **attrs))


def _reduce_join(inputs, attrs):
    value, axis = inputs[0], attrs.get("axis")
    axis = axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
    if axis not in (1, -1) or value.ragged_rank != 1 or value.flat_values.shape.rank != 1:
        raise ValueError("tf.strings.reduce_join of a ragged tensor joins the strings of each row in Tandem.")
    from tandem.ops.strings import unsorted_segment_join

    return unsorted_segment_join(value.values, value.value_rowids(), value.nrows(), attrs.get("separator", ""))


_HANDLERS = {
    "ConcatV2": lambda inputs, attrs: ragged_ops.concat(list(inputs[0]), attrs.get("axis", 0)),
    "Pack": lambda inputs, attrs: ragged_ops.stack(list(inputs[0]), attrs.get("axis", 0)),
    "ExpandDims": lambda inputs, attrs: ragged_ops.expand_dims(inputs[0], attrs.get("axis", 0)),
    "Squeeze": lambda inputs, attrs: ragged_ops.squeeze(inputs[0], attrs.get("axis")),
    "Tile": lambda inputs, attrs: ragged_ops.tile(inputs[0], inputs[1]),
    "GatherV2": lambda inputs, attrs: ragged_ops.gather(*inputs[:2], attrs.get("axis", 0), attrs.get("batch_dims", 0)),
    "ResourceGather": lambda inputs, attrs: ragged_ops.gather(inputs[0].read_value(), inputs[1]),
    "ReverseV2": lambda inputs, attrs: ragged_ops.reverse(inputs[0], attrs.get("axis", [])),
    "Size": lambda inputs, attrs: ragged_reduce.count_of(inputs[0], attrs.get("out_type")),
    "Rank": lambda inputs, attrs: ragged_reduce.rank_of(inputs[0]),
    "Softmax": lambda inputs, attrs: ragged_reduce.softmax(inputs[0], attrs.get("axis")),
    "SelectV2": _select,
    "MatMul": _matmul,
    "BatchMatMulV2": _matmul,
    "StringJoin": _join,
    "ReduceJoin": _reduce_join,
    "Bitcast": lambda inputs, attrs: inputs[0].with_flat_values(execute("Bitcast", inputs[0].flat_values, **attrs)),
}


def handler(op):
    """The function of an op, or None."""
    if op in ("Sum", "Max", "Min", "Prod", "Mean", "Any", "All"):
        return lambda inputs, attrs: ragged_reduce.reduce(op, inputs[0], attrs.get("axis"), attrs.get("keepdims", False))
    return _HANDLERS.get(op)
