"""tf.strings.ngrams: words of every row joined with those that follow them."""

from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import int64, string
from tandem.framework.ragged import RaggedTensor
from tandem.framework.ragged_ops import concat, places


def ngrams(data, ngram_width, separator=" ", pad_values=None, padding_width=None, preserve_short_sequences=False,
           name=None):  # fmt: skip
    """The n-grams of each innermost row, those of the first width before those of the next."""
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if any(width < 1 for width in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    if padding_width is not None and padding_width < 0:
        raise ValueError(f"padding_width must be greater than 0. Got {padding_width}")
    if pad_values is not None and not isinstance(pad_values, (tuple, str, bytes)):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    pads = pad_values if isinstance(pad_values, tuple) else (pad_values, pad_values)
    if isinstance(data, RaggedTensor):
        if isinstance(data.values, RaggedTensor):
            return data.with_values(ngrams(data.values, widths, separator, pad_values, padding_width, preserve_short_sequences))
        return _of_rows(data, widths, separator, pads, padding_width, preserve_short_sequences)
    data = convert_to_tensor(data, string)
    if data.shape.rank == 1:
        return ngrams(data[None], widths, separator, pad_values, padding_width, preserve_short_sequences)[0]
    if data.shape.rank != 2:
        raise NotImplementedError("tf.strings.ngrams takes vectors, matrices and ragged tensors in Tandem.")
    return _of_rows(RaggedTensor.from_tensor(data), widths, separator, pads, padding_width, preserve_short_sequences).to_tensor("")


def _of_rows(rows, widths, separator, pads, padding_width, preserve):
    kind, rows = rows.row_splits.dtype, rows.with_row_splits_dtype(int64)
    found = []
    for width in widths:
        padding = 0 if pads[0] is None else min(width - 1 if padding_width is None else padding_width, width - 1)
        found.append(_of_width(_padded(rows, pads, padding), width, separator))
    joined = concat(found, 1)
    if preserve:
        joined = _with_short(joined, rows, separator)
    return joined.with_row_splits_dtype(kind)


def _with_short(joined, rows, separator):
    """Rows that are too short for any width, but not empty, are one n-gram of all their words."""
    short = execute("LogicalAnd", execute("Equal", joined.row_lengths(), 0), execute("Greater", rows.row_lengths(), 0))
    count = rows.nrows()
    whole = execute("ReduceJoin", rows.to_tensor(""), axis=[1], separator=separator)
    # Shorter rows are padded with empty words: their separators at the end go away with them.
    texts = execute("Substr", whole, execute("ZerosLike", rows.row_lengths()), _text_lengths(rows, separator), unit="BYTE")
    places = execute("Where", short)[:, 0]
    alone = RaggedTensor.from_value_rowids(execute("GatherV2", texts, places), places, nrows=count, validate=False)
    return concat([joined, alone], 1)


def _text_lengths(rows, separator):
    lengths = execute("Cast", execute("StringLength", rows.values), dtype=int64)
    total = execute("UnsortedSegmentSum", lengths, rows.value_rowids(), rows.nrows())
    gaps = execute("Maximum", rows.row_lengths() - 1, convert_to_tensor(0, int64))
    return total + gaps * len(separator.encode() if isinstance(separator, str) else separator)


def _of_width(rows, width, separator):
    """Every word that has enough words after it in its row, joined with them."""
    lengths = rows.row_lengths()
    none = execute("ZerosLike", lengths)
    counts = execute("Maximum", lengths - (width - 1), none)
    starting = RaggedTensor.from_row_lengths(places(rows.row_starts(), counts), counts, validate=False)
    # Where there are fewer words than the width nothing starts, whatever is joined.
    joined = execute("Minimum", execute("Size", rows.values, out_type=int64), width)
    steps = execute("Range", convert_to_tensor(0, int64), joined, convert_to_tensor(1, int64))
    words = execute("GatherV2", rows.values, execute("ExpandDims", starting.values, axis=-1) + steps)
    return starting.with_values(execute("ReduceJoin", words, axis=[-1], separator=separator))


def _padded(rows, pads, padding):
    if not padding:
        return rows
    count = rows.nrows() * padding
    left, right = (
        RaggedTensor.from_uniform_row_length(
            execute("Fill", execute("Reshape", count, [1]), convert_to_tensor(pad, string)), padding, rows.nrows()
        )
        for pad in pads
    )
    return concat([left, rows, right], 1)
