"""tf.io: contents of files, and messages tf.train.Example."""

import collections

import numpy as np

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.dtypes import int32, int64, string, uint8, uint16


def decode_raw(input_bytes, out_type, little_endian=True, fixed_length=None, name=None):
    """Numbers from the bytes of strings."""
    return execute(
        "DecodeRaw", convert_to_tensor(input_bytes, string), out_type=as_dtype(out_type), little_endian=little_endian,
        fixed_length=0 if fixed_length is None else fixed_length,
    )  # fmt: skip


def decode_csv(
    records, record_defaults, field_delim=",", use_quote_delim=True, na_value="", select_cols=None, name=None
):
    """Columns of comma-separated values; a default gives each its dtype."""
    defaults = []
    if len(record_defaults) == 0:
        raise InvalidArgumentError(None, None, "DecodeCSV: record_defaults must have an element for each column, at least 1.")
    for value in record_defaults:
        if hasattr(value, "as_numpy_dtype"):  # a dtype: the column is required
            value = np.zeros([0], value.as_numpy_dtype)
        defaults.append(convert_to_tensor(value))
    return execute(
        "DecodeCSV", convert_to_tensor(records, string), defaults, field_delim=field_delim,
        use_quote_delim=use_quote_delim, na_value=na_value, select_cols=select_cols or None,
    )  # fmt: skip


def decode_image(contents, channels=None, dtype=uint8, name=None, expand_animations=True):
    """The pixels of a JPEG, PNG, BMP or GIF file."""
    dtype = as_dtype(dtype)
    stored = uint16 if dtype is uint16 else uint8
    image = execute(
        "DecodeImage", convert_to_tensor(contents, string), channels=channels or 0, dtype=stored,
        expand_animations=expand_animations,
    )  # fmt: skip
    if dtype is stored:
        return image
    from tandem.ops.image import convert_image_dtype

    return convert_image_dtype(image, dtype)


def is_jpeg(contents, name=None):
    """Whether contents begin as those of a JPEG file."""
    start = execute("Substr", convert_to_tensor(contents, string), 0, 3, unit="BYTE")
    return execute("Equal", start, b"\xff\xd8\xff")


def match_filenames_once(pattern, name=None):
    """The names of files that match, as a variable."""
    from tandem.framework.variable import Variable

    return Variable(execute("MatchingFiles", convert_to_tensor(pattern, string)), trainable=False)


FixedLenFeature = collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"], defaults=[None])
VarLenFeature = collections.namedtuple("VarLenFeature", ["dtype"])
FixedLenSequenceFeature = collections.namedtuple(
    "FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"], defaults=[False, None]
)
SparseFeature = collections.namedtuple(
    "SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"], defaults=[False]
)
RaggedFeature = collections.namedtuple(
    "RaggedFeature", ["dtype", "value_key", "partitions", "row_splits_dtype", "validate"],
    defaults=[None, (), int32, False],
)  # fmt: skip
for _class, _doc in (
    (FixedLenFeature, "A feature of a fixed shape."),
    (VarLenFeature, "A feature of any length, as a SparseTensor."),
    (FixedLenSequenceFeature, "A feature of any number of rows, padded."),
    (SparseFeature, "Values at places that another feature gives."),
    (RaggedFeature, "A feature of any length, as a RaggedTensor."),
):
    _class.__doc__ = _doc


class _Wanted:
    """The features asked for, as the attributes and defaults of one op."""

    def __init__(self):
        self.keys, self.kinds, self.types, self.shapes, self.defaults = [], [], [], [], []

    def add(self, key, kind, dtype, shape=(), default=None):
        dtype = as_dtype(dtype)
        self.keys.append(key)
        self.kinds.append(kind)
        self.types.append(dtype.name)
        self.shapes += [len(shape), *shape]
        empty = np.zeros([0], dtype.as_numpy_dtype) if dtype is not string else convert_to_tensor([], string)
        self.defaults.append(convert_to_tensor(empty if default is None else default, dtype))

    def parse(self, serialized):
        return iter(
            execute(
                "ParseExample", serialized, self.defaults, keys=self.keys, kinds=self.kinds, types=self.types,
                shapes=self.shapes,
            )
        )  # fmt: skip


def _dims(shape):
    from tandem.framework.shape import as_shape

    return as_shape(shape).as_list()


def parse_example(serialized, features, example_names=None, name=None):
    """Features of a vector of messages tf.train.Example, by name."""
    if not features:
        raise ValueError("Argument `features` cannot be None or empty.")
    serialized = convert_to_tensor(serialized, string)
    if serialized.shape.rank == 0:
        return parse_single_example(serialized, features)
    wanted = _Wanted()
    for key, f in sorted(features.items()):
        if isinstance(f, FixedLenFeature):
            shape = _dims(f.shape)
            if shape and shape[0] is None:
                wanted.add(key, "sequence", f.dtype, shape[1:], f.default_value)
            else:
                wanted.add(key, "dense", f.dtype, shape, f.default_value)
        elif isinstance(f, FixedLenSequenceFeature):
            if not f.allow_missing:
                raise ValueError(
                    f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True. Feature: {f}, key: {key}."
                )
            wanted.add(key, "sequence", f.dtype, _dims(f.shape), f.default_value)
        elif isinstance(f, VarLenFeature):
            wanted.add(key, "varlen", f.dtype)
        elif isinstance(f, RaggedFeature):
            if f.partitions:
                raise NotImplementedError("tf.io.RaggedFeature with partitions is not available in Tandem.")
            wanted.add(f.value_key or key, "varlen", f.dtype)
        elif isinstance(f, SparseFeature):
            index_keys = f.index_key if isinstance(f.index_key, (list, tuple)) else [f.index_key]
            for index_key in index_keys:
                wanted.add(index_key, "varlen", int64)
            wanted.add(f.value_key, "varlen", f.dtype)
        else:
            raise ValueError(f"Invalid feature {key}:{f}.")
    parts, result = wanted.parse(serialized), {}
    for key, f in sorted(features.items()):
        if isinstance(f, (FixedLenFeature, FixedLenSequenceFeature)):
            result[key] = next(parts)
        elif isinstance(f, VarLenFeature):
            result[key] = _sparse_rows(next(parts), next(parts))
        elif isinstance(f, RaggedFeature):
            result[key] = _ragged_rows(next(parts), next(parts), f.row_splits_dtype)
        else:
            result[key] = _sparse_at(f, parts)
    return result


def _coordinates(lengths):
    """Row and column of every element of rows of these lengths."""
    from tandem.ops.array import range as range_

    n = execute("Shape", lengths, out_type=int64)[0]
    rows = execute("Repeat", range_(n), lengths, axis=0)
    starts = execute("Cumsum", lengths, axis=0, exclusive=True)
    columns = range_(execute("Shape", rows, out_type=int64)[0]) - execute("GatherV2", starts, rows)
    return n, rows, columns


def _sparse_rows(values, lengths):
    from tandem.framework.sparse import SparseTensor

    n, rows, columns = _coordinates(lengths)
    longest = execute("Maximum", execute("Max", lengths), convert_to_tensor(0, int64))
    return SparseTensor(
        execute("Pack", [rows, columns], axis=1), values, execute("Pack", [n, longest], axis=0)
    )


def _ragged_rows(values, lengths, splits_dtype):
    from tandem.framework.ragged import RaggedTensor

    return RaggedTensor.from_row_lengths(values, execute("Cast", lengths, dtype=as_dtype(splits_dtype)), validate=False)


def _sparse_at(f, parts):
    from tandem.framework.sparse import SparseTensor

    index_keys = f.index_key if isinstance(f.index_key, (list, tuple)) else [f.index_key]
    sizes = f.size if isinstance(f.size, (list, tuple)) else [f.size]
    places = []
    for _ in index_keys:
        places.append(next(parts))
        next(parts)
    values, lengths = next(parts), next(parts)
    n, rows, _ = _coordinates(lengths)
    shape = execute("Pack", [n, *(convert_to_tensor(s, int64) for s in sizes)], axis=0)
    return SparseTensor(execute("Pack", [rows, *places], axis=1), values, shape)


def parse_single_example(serialized, features, example_names=None, name=None):
    """Features of one message tf.train.Example, by name."""
    from tandem.framework.sparse import SparseTensor

    serialized = execute("ExpandDims", convert_to_tensor(serialized, string), axis=0)
    result = {}
    for key, value in parse_example(serialized, features).items():
        if isinstance(value, SparseTensor):
            result[key] = SparseTensor(value.indices[:, 1:], value.values, value.dense_shape[1:])
        elif hasattr(value, "row_splits"):
            result[key] = value.values
        else:
            result[key] = execute("Squeeze", value, axis=0)
    return result


