"""Indexing of ragged tensors: rows, slices of rows and of what is in them. Everything but a plain row number is traced as
well as run."""

import numbers

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework.ragged import RaggedTensor, _integers
from tandem.framework.ragged_ops import _range, assert_in_rows, expand_dims, take_rows


def item(value, keys):
    if any(key is Ellipsis for key in keys):
        at = next(i for i, key in enumerate(keys) if key is Ellipsis)
        given = sum(key is not None for key in keys) - 1
        keys = (*keys[:at], *[slice(None)] * (value.shape.rank - given), *keys[at + 1 :])
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if first is None:
        return _inside(expand_dims(value, 0), rest)
    if isinstance(first, slice):
        return _inside(_rows(value, first), rest)
    row = _row(value, first)
    return row[rest] if rest else row


def _row(value, index):
    from tandem.ops.ragged_map import row_of

    if isinstance(index, (RaggedTensor, list)) or getattr(getattr(index, "shape", None), "rank", 0):
        raise TypeError("A ragged tensor is indexed with numbers and slices, not with lists; use tf.gather.")
    if isinstance(index, numbers.Integral) or _core.static_value(convert_to_tensor(index)) is not None:
        index = int(index)
        count = value.row_splits.shape[0]
        if count is not None:
            if not -(count - 1) <= index < count - 1:
                raise IndexError(f"index {index} is out of bounds for axis 0 with size {count - 1}")
            index %= count - 1
        elif index < 0:
            index = value.nrows() + index
    return row_of(value, index)


def _rows(value, chosen):
    if chosen == slice(None):
        return value
    return take_rows(value, _range(value.nrows())[chosen])


def _inside(value, keys):
    """What a key says about every row."""
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    if key is None:
        return _inside_values(expand_dims(value, 1), rest)
    if isinstance(key, slice):
        return _inside_values(_slices(value, key), rest)
    lengths = value.row_lengths()
    place = _integers(key, lengths.dtype)
    place = execute("SelectV2", place < 0, lengths + place, place + execute("ZerosLike", lengths))
    assert_in_rows(place, lengths)
    picked = take_rows(value.values, value.row_starts() + place)
    return picked[(slice(None), *rest)] if rest else picked


def _inside_values(value, keys):
    """Keys for the dimensions below the rows."""
    return value.with_values(value.values[(slice(None), *keys)]) if keys else value


def _slices(value, key):
    """The same slice of every row, by Python's rules for a row of its length."""
    if key == slice(None):
        return value
    lengths, starts = value.row_lengths(), value.row_starts()
    step = 1 if key.step is None else int(key.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, lengths) if step > 0 else (-1, lengths - 1)

    def bound(given, otherwise):
        if given is None:
            return otherwise + execute("ZerosLike", lengths)
        given = _integers(given, lengths.dtype)
        counted = execute("SelectV2", given < 0, lengths + given, given + execute("ZerosLike", lengths))
        least = convert_to_tensor(low, lengths.dtype)
        return execute("Minimum", execute("Maximum", counted, least), execute("Maximum", high + execute("ZerosLike", lengths), least))

    begin = bound(key.start, low if step > 0 else high)
    end = bound(key.stop, high if step > 0 else low)
    distance = end - begin if step > 0 else begin - end
    size = abs(step)
    count = execute("Maximum", execute("FloorDiv", distance + (size - 1), convert_to_tensor(size, lengths.dtype)),
                    convert_to_tensor(0, lengths.dtype))  # fmt: skip
    before = execute("Cumsum", count, axis=0, exclusive=True)
    turn = _range(execute("Sum", count)) - execute("Repeat", before, count, axis=0)
    places = execute("Repeat", starts + begin, count, axis=0) + turn * step
    return RaggedTensor.from_row_lengths(take_rows(value.values, places), count, validate=False)
