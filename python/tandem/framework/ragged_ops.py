"""Ops on ragged tensors that rearrange rows: gather, concat, stack, tile, reverse. All of them work on flat values and
lengths of rows, so that they can be traced."""

from tandem._core import Tensor, convert_to_tensor, execute, static_value
from tandem.framework.dtypes import int64
from tandem.framework.ragged import RaggedTensor


def _range(*limits):
    from tandem.ops.array import range as range_

    return range_(*limits)


def is_ragged(value):
    return isinstance(value, RaggedTensor)


def as_ragged(value, like):
    """A value as ragged as another one: dense dimensions become ragged ones of equal rows."""
    if is_ragged(value):
        return value
    value = convert_to_tensor(value, None if like is None else like.dtype)
    return dense_to_ragged(value, like.ragged_rank, like.row_splits.dtype)


def dense_to_ragged(tensor, ragged_rank, splits_dtype):
    """The first dimensions of a dense tensor as ragged ones."""
    shape = execute("Shape", tensor, out_type=int64)
    lengths = [execute("Fill", execute("Prod", shape[: i + 1], keepdims=True), shape[i + 1]) for i in range(ragged_rank)]
    flat = execute("Reshape", tensor, execute("ConcatV2", [execute("Prod", shape[: ragged_rank + 1], keepdims=True),
                                                           shape[ragged_rank + 1 :]], axis=0))  # fmt: skip
    if tensor.shape.rank is not None:
        flat.set_shape([None, *tensor.shape.as_list()[ragged_rank + 1 :]])
    for length in reversed(lengths):
        flat = RaggedTensor.from_row_lengths(flat, execute("Cast", length, dtype=splits_dtype), validate=False)
    return flat


def take_rows(value, rows):
    """The rows of a ragged or dense tensor that a vector of numbers names."""
    if not is_ragged(value):
        return execute("GatherV2", value, rows)
    rows = convert_to_tensor(rows)
    lengths = execute("GatherV2", value.row_lengths(), rows)
    starts = execute("GatherV2", value.row_starts(), rows)
    return RaggedTensor.from_row_lengths(take_rows(value.values, places(starts, lengths)), lengths, validate=False)


def places(starts, lengths):
    """start, start + 1, … for each row, one after the other."""
    before = execute("Cumsum", lengths, axis=0, exclusive=True)
    total = execute("Sum", lengths)
    return execute("Repeat", starts - before, lengths, axis=0) + _range(total)


def gather(params, indices, axis=0, batch_dims=0):
    """tf.gather where params or indices are ragged."""
    if axis < 0:
        axis += params.shape.rank
    if batch_dims == 1 and axis == 1:
        return _gather_in_rows(params, indices)
    if batch_dims:
        raise ValueError("tf.gather of ragged tensors takes batch_dims 0 or 1 in Tandem.")
    if axis:
        if not is_ragged(params):
            raise ValueError("tf.gather with ragged indices takes axis 0 in Tandem.")
        if axis > 1:
            return params.with_values(gather(params.values, indices, axis - 1) if is_ragged(params.values)
                                      else execute("GatherV2", params.values, indices, axis=axis - 1))  # fmt: skip
        chosen = convert_to_tensor(indices)
        if chosen.shape.rank == 0:
            return params[:, chosen]
        count = execute("Size", chosen)
        return _gather_in_rows(params, dense_to_ragged(
            execute("Tile", execute("ExpandDims", chosen, axis=0), execute("Pack", [execute("Cast", params.nrows(), dtype="int32"), count * 0 + 1], axis=0)),
            1, params.row_splits.dtype))  # fmt: skip
    if is_ragged(indices):
        inner = gather(params, indices.values)
        return indices.with_values(inner)
    indices = convert_to_tensor(indices)
    if indices.shape.rank == 1:
        return take_rows(params, indices)
    if indices.shape.rank == 0:
        return params[indices]
    found = take_rows(params, execute("Reshape", indices, [-1]))
    for size in reversed(indices.shape.as_list()[1:]):
        found = RaggedTensor.from_uniform_row_length(found, size)
    return found


def _gather_in_rows(params, indices):
    """Of each row the places that a row of indices names."""
    if not is_ragged(indices):
        indices = dense_to_ragged(convert_to_tensor(indices), 1, int64)
    if not is_ragged(params):
        params = dense_to_ragged(convert_to_tensor(params), 1, int64)
    rows = indices.value_rowids()
    starts, lengths, offsets = (  # in 64 bits: in 32 an index that is far out would be another
        execute("Cast", part, dtype=int64)
        for part in (*(execute("GatherV2", v, rows) for v in (params.row_starts(), params.row_lengths())), indices.values)
    )
    assert_in_rows(offsets, lengths)
    return indices.with_values(take_rows(params.values, starts + offsets))


def assert_in_rows(offsets, lengths):
    """That rows of these lengths have values at these places: the next value may be that of another row."""
    from tandem.ops.check import assert_less, assert_non_negative

    message = "Cannot index into an inner ragged dimension: a row has no value at this place."
    assert_less(offsets, lengths, message)
    assert_non_negative(offsets, message)


def _same_splits(values):
    kinds = {v.row_splits.dtype.name for v in values if is_ragged(v)}
    return [v.with_row_splits_dtype(int64) for v in values] if len(kinds) > 1 else values


def concat(values, axis):
    """tf.concat of which some are ragged."""
    deepest = max((v for v in values if is_ragged(v)), key=lambda v: v.ragged_rank)
    rank = deepest.shape.rank
    axis = axis + rank if axis < 0 else axis
    if len(values) == 1:
        return values[0]
    values = _same_splits([as_ragged(v, deepest) for v in values])
    ranks = {v.ragged_rank for v in values}
    if len(ranks) > 1:
        values = [_deepened(v, max(ranks)) for v in values]
    if axis == 0:
        lengths = execute("ConcatV2", [v.row_lengths() for v in values], axis=0)
        return RaggedTensor.from_row_lengths(_joined([v.values for v in values], 0), lengths, validate=False)
    if axis == 1:
        # All rows below each other, then the first of each, the second of each and so on.
        below, count, many = concat(values, 0), values[0].nrows(), len(values)
        numbers = execute("Reshape", execute("Transpose", execute("Reshape", _range(count * many), [many, -1]), perm=[1, 0]), [-1])
        ordered = take_rows(below, numbers)
        return RaggedTensor(ordered.values, ordered.row_splits[::many], internal=True)
    return values[0].with_values(_joined([v.values for v in values], axis - 1))


def _deepened(value, ragged_rank):
    """With the first dense dimensions as ragged ones."""
    missing = ragged_rank - value.ragged_rank
    if not missing:
        return value
    flat = dense_to_ragged(value.flat_values, missing, value.row_splits.dtype)
    return value.with_flat_values(flat)


def _joined(values, axis):
    return concat(values, axis) if any(map(is_ragged, values)) else execute("ConcatV2", values, axis=axis)


def stack(values, axis=0):
    deepest = max((v for v in values if is_ragged(v)), key=lambda v: v.ragged_rank)
    rank = deepest.shape.rank + 1
    axis = axis + rank if axis < 0 else axis
    return concat([expand_dims(as_ragged(v, deepest), axis) for v in values], axis)


def expand_dims(value, axis):
    rank = value.shape.rank
    axis = axis + rank + 1 if axis < 0 else axis
    if axis == 0:
        rows = value.nrows()
        splits = execute("Pack", [execute("ZerosLike", rows), rows], axis=0)
        return RaggedTensor(value, splits, internal=True, uniform_row_length=value.shape[0])
    if axis == 1:
        return RaggedTensor(value, _range(value.nrows() + 1), internal=True, uniform_row_length=1)
    inner = value.values
    changed = expand_dims(inner, axis - 1) if is_ragged(inner) else execute("ExpandDims", inner, axis=axis - 1)
    return value.with_values(changed)


def squeeze(value, axis):
    if axis is None or axis == []:
        raise ValueError("tf.squeeze of a ragged tensor wants the axis in Tandem.")
    axes = sorted((a + value.shape.rank if a < 0 else a for a in (axis if isinstance(axis, (list, tuple)) else [axis])), reverse=True)
    for one in axes:
        value = _squeezed(value, one)
    return value


def _squeezed(value, axis):
    if not is_ragged(value):
        return execute("Squeeze", value, axis=[axis])
    if axis == 0:
        from tandem.ops.check import assert_equal

        assert_equal(value.nrows(int64), convert_to_tensor(1, int64), "Only a single row can be squeezed away.")
        return value.values
    if axis == 1:
        if value._uniform != 1:
            raise ValueError("A ragged dimension can be squeezed only when all its rows have one element.")
        return value.values
    return value.with_values(_squeezed(value.values, axis - 1))


def tile(value, multiples):
    multiples, rank = convert_to_tensor(multiples), value.shape.rank
    if multiples.shape.rank != 1 or multiples.shape[0] not in (None, rank):
        raise ValueError(f"tf.tile: multiples of shape {multiples.shape} do not fit a ragged tensor of rank {rank}.")
    known = static_value(multiples)
    for axis in range(rank):
        if known is None or known[axis] != 1:
            value = _tiled(value, axis, multiples[axis])
    return value


def _tiled(value, axis, count):
    if not is_ragged(value):
        ones = execute("OnesLike", execute("Shape", value, out_type=count.dtype))
        numbers = execute("Pack", [count if i == axis else ones[i] for i in range(value.shape.rank)], axis=0)
        return execute("Tile", value, numbers)
    if axis > 1:
        return value.with_values(_tiled(value.values, axis - 1, count))
    if axis == 0:
        return take_rows(value, execute("Tile", _range(value.nrows()), execute("Reshape", count, [1])))
    lengths = value.row_lengths()
    often = execute("Fill", execute("Shape", lengths), count)
    chosen = places(*(execute("Repeat", v, often, axis=0) for v in (value.row_starts(), lengths)))
    lengths = lengths * execute("Cast", count, dtype=lengths.dtype)
    return RaggedTensor.from_row_lengths(take_rows(value.values, chosen), lengths, validate=False)


def reverse(value, axes):
    if isinstance(axes, Tensor):
        known = static_value(axes)
        if known is None:
            raise TypeError("tf.reverse of a ragged tensor wants axes that are known when it is traced.")
        axes = known.reshape(-1).tolist()
    for axis in axes if isinstance(axes, (list, tuple)) else [axes]:
        value = _reversed(value, axis + value.shape.rank if axis < 0 else axis)
    return value


def _reversed(value, axis):
    if not is_ragged(value):
        return execute("ReverseV2", value, axis=[axis])
    if axis == 0:
        return take_rows(value, value.nrows() - 1 - _range(value.nrows()))
    if axis > 1:
        return value.with_values(_reversed(value.values, axis - 1))
    ids = value.value_rowids()
    place = _range(execute("Cast", execute("Shape", ids, out_type=int64)[0], dtype=ids.dtype))
    mirrored = execute("GatherV2", value.row_starts() + value.row_limits(), ids) - 1 - place
    return value.with_values(take_rows(value.values, mirrored))
