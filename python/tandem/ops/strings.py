"""tf.strings, where TensorFlow's function is more than one op."""

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import float32, int32, int64, string
from tandem.ops import check
from tandem.ops.sizes import clipped_int32, of_one_dtype


def _text(value):
    """A string argument as Python text; one that is a tensor must be known."""
    if isinstance(value, _core.Tensor):
        value = _core.static_value(value)
        if value is None:
            raise NotImplementedError("Tandem needs this string to be known when the function is traced.")
        value = value.item() if hasattr(value, "item") else value
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _strings(value):
    return value if hasattr(value, "with_flat_values") else convert_to_tensor(value, string)


def join(inputs, separator="", name=None):
    """Joins strings elementwise."""
    return execute("StringJoin", [_strings(x) for x in inputs], separator=separator)


def reduce_join(inputs, axis=None, keepdims=False, separator="", name=None):
    """Joins all strings along axes, the first axis outermost."""
    x = _strings(inputs)
    if isinstance(axis, (list, tuple)) and not axis:
        return execute("Identity", x)
    return execute("ReduceJoin", x, axis=axis, keepdims=keepdims, separator=separator)


def unsorted_segment_join(inputs, segment_ids, num_segments, separator="", name=None):
    """Joins the strings of each segment."""
    x, ids = convert_to_tensor(inputs, string), clipped_int32(segment_ids)
    if x.shape.rank != 1 or ids.shape.rank != 1:
        raise NotImplementedError("tf.strings.unsorted_segment_join takes vectors in Tandem.")
    count = int(num_segments)
    parts = execute("DynamicPartition", x, ids, num_partitions=count)
    return execute("Pack", [execute("ReduceJoin", part, separator=separator) for part in parts], axis=0)


def substr(input, pos, len, unit="BYTE", name=None):
    """Parts of strings; position and length broadcast."""
    if hasattr(input, "with_flat_values"):  # ragged
        return input.with_flat_values(substr(input.flat_values, pos, len, unit))
    x = convert_to_tensor(input, string)
    pos, len = of_one_dtype(pos, len)
    if not pos.shape.is_compatible_with(len.shape):
        raise ValueError(f"pos and len should have the same shape, got: {pos.shape} vs. {len.shape}")
    if not (pos.shape.is_fully_defined() and len.shape.is_fully_defined()):
        shapes = execute("Shape", pos), execute("Shape", len)
        check.assert_equal(*shapes, message="pos and len should have the same shape.")
    shapes = [t.shape for t in (pos, len) if t.shape.rank != 0 and t.shape != x.shape]
    if shapes:
        both = execute("Shape", x)
        for t in (pos, len):
            both = execute("BroadcastArgs", both, execute("Shape", t))
        x, pos, len = (execute("BroadcastTo", t, both) for t in (x, pos, len))
    return execute("Substr", x, pos, len, unit=unit)


def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    """Replaces what matches an RE2 pattern."""
    if hasattr(input, "with_flat_values"):
        return input.with_flat_values(regex_replace(input.flat_values, pattern, rewrite, replace_global))
    return execute(
        "StaticRegexReplace", convert_to_tensor(input, string), pattern=_text(pattern), rewrite=_text(rewrite),
        replace_global=replace_global,
    )  # fmt: skip


def regex_full_match(input, pattern, name=None):
    """Whether strings match an RE2 pattern as a whole."""
    return execute("StaticRegexFullMatch", convert_to_tensor(input, string), pattern=_text(pattern))


def to_number(input, out_type=float32, name=None):
    """The numbers that strings spell."""
    return execute("StringToNumber", convert_to_tensor(input, string), out_type=as_dtype(out_type))


def format(template, inputs, placeholder="{}", summarize=3, name=None):
    """A text with tensors put in at placeholders."""
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    wanted = template.count(placeholder)
    if wanted != len(inputs):
        raise ValueError(
            f"The template expects {wanted} tensors, but the inputs only has {len(inputs)}. Please ensure the number "
            "of placeholders in template matches inputs length."
        )
    tensors = [convert_to_tensor(x) for x in inputs]
    return execute("StringFormat", tensors, text=template, placeholder=placeholder, summarize=summarize)


def of_some_rank(strings):
    """Strings whose rank is that of the result: of an unknown one they can only be a vector."""
    x = convert_to_tensor(strings, string)
    return execute("EnsureShape", x, shape=[None]) if x.shape.rank is None else x


def _ragged(values, splits, x):
    """The ragged result of cutting each string of x; a vector when x is one string."""
    from tandem.framework.ragged import RaggedTensor

    if x.shape.rank == 0:
        return values
    result = RaggedTensor.from_row_splits(values, splits, validate=False)
    if x.shape.rank > 1:
        result = result.with_outer_dimensions(x)
    return result


def split(input, sep=None, maxsplit=-1, name=None):
    """The parts of strings between separators, white space when there is none."""
    if hasattr(input, "with_flat_values"):  # ragged
        return input.with_flat_values(split(input.flat_values, sep, maxsplit))
    x = of_some_rank(input)
    flat = execute("Reshape", x, [-1])
    indices, values, shape = execute("StringSplitV2", flat, "" if sep is None else sep, maxsplit=maxsplit)
    if x.shape.rank == 0:
        return values
    from tandem.framework.ragged import RaggedTensor

    result = RaggedTensor.from_value_rowids(values, indices[:, 0], nrows=shape[0], validate=False)
    return result.with_outer_dimensions(x) if x.shape.rank > 1 else result


def bytes_split(input, name=None):
    """The bytes of strings, each as a string."""
    x = of_some_rank(input)
    flat = execute("Reshape", x, [-1])
    lengths = execute("Cast", execute("StringLength", flat), dtype=int64)
    ends = execute("Cumsum", lengths, axis=0)
    splits = execute("ConcatV2", [convert_to_tensor([0], int64), ends], axis=0)
    rows = execute("Repeat", flat, lengths, axis=0)
    count = execute("Range", convert_to_tensor(0, int64), splits[-1], convert_to_tensor(1, int64))
    at = count - execute("Repeat", splits[:-1], lengths, axis=0)
    values = execute("Substr", rows, at, execute("OnesLike", at), unit="BYTE")
    return _ragged(values, splits, x)


def _decoded(input, input_encoding, errors, replacement_char):
    x = of_some_rank(input)
    flat = execute("Reshape", x, [-1])
    splits, points, offsets = execute(
        "UnicodeDecodeWithOffsets", flat, input_encoding=check.in_capitals(input_encoding, "input_encoding"), errors=errors,
        replacement_char=replacement_char,
    )  # fmt: skip
    return x, splits, points, offsets


def unicode_decode(
    input, input_encoding, errors="replace", replacement_char=65533, replace_control_characters=False, name=None
):
    """The code points of strings."""
    x, splits, points, _ = _decoded(input, input_encoding, errors, replacement_char)
    return _ragged(points, splits, x)


def unicode_decode_with_offsets(
    input, input_encoding, errors="replace", replacement_char=65533, replace_control_characters=False, name=None
):
    """The code points of strings and where each begins."""
    x, splits, points, offsets = _decoded(input, input_encoding, errors, replacement_char)
    return _ragged(points, splits, x), _ragged(offsets, splits, x)


def unicode_encode(input, output_encoding, errors="replace", replacement_char=65533, name=None):
    """Strings of code points; the last dimension goes away."""
    encoding = check.in_capitals(output_encoding, "output_encoding")
    options = {"output_encoding": encoding, "errors": errors, "replacement_char": replacement_char}
    if hasattr(input, "row_splits"):
        splits = execute("Cast", input.row_splits, dtype=int64)
        return execute("UnicodeEncode", input.values, splits, **options)
    x = convert_sizes(input, int32)
    sizes = execute("Shape", x, out_type=int64)
    outer, flat = sizes[:-1], execute("Reshape", x, [-1])
    numbers = (convert_to_tensor(0, int64), execute("Prod", outer, axis=[0]) + 1, convert_to_tensor(1, int64))
    splits = execute("Range", *numbers) * sizes[-1]
    return execute("Reshape", execute("UnicodeEncode", flat, splits, **options), outer)


def _split_characters(input, input_encoding, errors, replacement_char):
    x, splits, points, offsets = _decoded(input, input_encoding, errors, replacement_char)
    ends = execute("Range", *(convert_to_tensor(v, int64) for v in (0, execute("Size", points, out_type=int64) + 1, 1)))
    encoding = check.in_capitals(input_encoding, "input_encoding")
    values = execute("UnicodeEncode", points, ends, output_encoding=encoding, errors="replace")
    return _ragged(values, splits, x), _ragged(offsets, splits, x)


def unicode_split(input, input_encoding, errors="replace", replacement_char=65533, name=None):
    """The characters of strings, each as a string."""
    return _split_characters(input, input_encoding, errors, replacement_char)[0]


def unicode_split_with_offsets(input, input_encoding, errors="replace", replacement_char=65533, name=None):
    """The characters of strings and where each begins."""
    return _split_characters(input, input_encoding, errors, replacement_char)


def unicode_transcode(
    input, input_encoding, output_encoding, errors="replace", replacement_char=65533,
    replace_control_characters=False, name=None,
):  # fmt: skip
    """Strings in another encoding."""
    return execute(
        "UnicodeTranscode", convert_to_tensor(input, string), input_encoding=check.in_capitals(input_encoding, "input_encoding"),
        output_encoding=check.in_capitals(output_encoding, "output_encoding"), errors=errors, replacement_char=replacement_char,
    )  # fmt: skip
