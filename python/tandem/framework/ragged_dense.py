"""RaggedTensor.from_tensor: dense tensors as ragged ones, whole or with rows cut to lengths or freed from padding."""

from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import int64
from tandem.framework.ragged import RaggedTensor, _integers
from tandem.framework.ragged_ops import _range, dense_to_ragged


def from_tensor(tensor, lengths, padding, ragged_rank, splits_dtype):
    tensor = convert_to_tensor(tensor)
    if lengths is not None and padding is not None:
        raise ValueError("Specify argument `lengths` or `padding`, but not both.")
    if ragged_rank < 1:
        raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
    if tensor.shape.rank is not None and tensor.shape.rank <= ragged_rank:
        raise ValueError(f"A tensor of shape {tensor.shape} has too few dimensions for ragged_rank {ragged_rank}.")
    if _nested(lengths):
        return _of_nested_lengths(tensor, [_integers(n, splits_dtype) for n in lengths])
    whole = dense_to_ragged(tensor, ragged_rank, splits_dtype)
    result = _innermost(whole)
    if lengths is not None or padding is not None:
        result = _cut(result, tensor, lengths, padding, ragged_rank)
    for splits, size in reversed(list(zip(whole.nested_row_splits[:-1], _sizes(tensor, 1, ragged_rank)))):
        result = RaggedTensor(result, splits, internal=True, uniform_row_length=size)
    return result


def _sizes(tensor, first, last):
    """What is known of the sizes of dimensions, or None for each."""
    return [None] * (last - first) if tensor.shape.rank is None else tensor.shape.as_list()[first:last]


def _nested(lengths):
    """Whether there are lengths for several dimensions."""
    return isinstance(lengths, (list, tuple)) and bool(lengths) and getattr(convert_to_tensor(lengths[0]).shape, "rank", 0) == 1


def _innermost(rows):
    while isinstance(rows.values, RaggedTensor):
        rows = rows.values
    return rows


def _of_nested_lengths(tensor, lengths):
    count = execute("Sum", lengths[-1], keepdims=True)
    mask = RaggedTensor.from_nested_row_lengths(execute("Fill", count, True), lengths, validate=False)
    sizes = _sizes(tensor, 0, len(lengths) + 1)
    places = execute("Where", mask.to_tensor(False, shape=sizes))
    return mask.with_flat_values(execute("GatherNd", tensor, places))


def _cut(rows, tensor, lengths, padding, ragged_rank):
    """Of each row so many values as lengths say, or all but the padding at its end."""
    width = execute("Shape", tensor, out_type=int64)[ragged_rank]
    places = _range(width)
    if lengths is not None:
        counts = _integers(lengths, int64)
        if counts.shape.rank not in (None, 1):
            raise ValueError(f"Shape {counts.shape} must have rank 1")
        known = rows.shape[0]
        if known is not None and counts.shape[0] not in (None, known):
            raise ValueError(f"{counts.shape[0]} lengths do not fit the {known} rows of a tensor of shape {tensor.shape}.")
        counts = execute("Minimum", counts, width)
    else:
        same = execute("Equal", rows.values, convert_to_tensor(padding, tensor.dtype))
        if same.shape.rank is None:
            same = execute("All", execute("Reshape", same, execute("ConcatV2", [execute("Shape", same)[:1], [-1]], axis=0)), axis=[1])
        elif same.shape.rank > 1:
            same = execute("All", same, axis=list(range(1, same.shape.rank)))
        ends = execute("Tile", places + 1, execute("Reshape", rows.nrows(int64), [1]))
        ends = execute("SelectV2", same, execute("ZerosLike", ends), ends)
        counts = execute("UnsortedSegmentMax", ends, rows.value_rowids(), rows.nrows())
    counts = execute("Maximum", counts, convert_to_tensor(0, int64))
    used = execute("Less", places[None, :], counts[:, None])
    kept = execute("Where", execute("Reshape", used, [-1]))[:, 0]
    counts = execute("Cast", counts, dtype=rows.row_splits.dtype)
    return RaggedTensor.from_row_lengths(execute("GatherV2", rows.values, kept), counts, validate=False)
