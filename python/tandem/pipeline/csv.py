"""Datasets of CSV files: lines of text, taken apart by tf.io.decode_csv in the pipeline."""

import collections
import csv
import glob

import numpy as np

from tandem import _core
from tandem.framework.errors import InvalidArgumentError
from tandem.pipeline.base import AUTOTUNE
from tandem.pipeline.dataset import Dataset
from tandem.pipeline.readers import TextLineDataset, _names


class CsvDataset(Dataset):
    """One element per line: a tuple of a scalar for each chosen column.

    `record_defaults` has a dtype for a column that must be there, or a value for one that may be empty.
    """

    def __init__(
        self, filenames, record_defaults, compression_type=None, buffer_size=None, header=False, field_delim=",",
        use_quote_delim=True, na_value="", select_cols=None, exclude_cols=None,
    ):  # fmt: skip
        from tandem.ops.io import decode_csv

        if select_cols is not None and exclude_cols is not None:
            raise ValueError("Either select_cols or exclude_cols should be empty")
        defaults = [_default(value) for value in record_defaults]
        if not defaults:
            raise ValueError("record_defaults must have an element for each column.")

        def lines_of(name):
            lines = TextLineDataset(name, compression_type)
            return lines.skip(1) if header else lines

        def columns_of(line):
            chosen = select_cols
            if exclude_cols is not None:
                left = set(exclude_cols)
                chosen = [i for i in range(len(defaults) + len(left)) if i not in left]
            parsed = decode_csv(line, defaults, field_delim, use_quote_delim, na_value, chosen)
            return tuple(parsed)

        dataset = _names(filenames).flat_map(lines_of).map(columns_of)
        self._core, self._structure, self._options = dataset._core, dataset._structure, dataset._options
        self._kind = "CsvDatasetV2"


def _default(value):
    """What decode_csv takes: an empty vector of the dtype for a column that must be there."""
    try:
        dtype = _core.as_dtype(value) if isinstance(value, (_core.DType, str, type)) else None
    except TypeError:  # a text that names no dtype
        dtype = None
    if dtype is None:
        tensor = _core.convert_to_tensor(value)
        return tensor if tensor.shape.rank else _core.execute("Reshape", tensor, [1])
    if dtype == _core.as_dtype("string"):
        return _core.execute("Reshape", _core.convert_to_tensor([""]), [1])[:0]
    return _core.convert_to_tensor(np.zeros([0], dtype.as_numpy_dtype))


def make_csv_dataset(
    file_pattern, batch_size, column_names=None, column_defaults=None, label_name=None, select_columns=None,
    field_delim=",", use_quote_delim=True, na_value="", header=True, num_epochs=None, shuffle=True,
    shuffle_buffer_size=10000, shuffle_seed=None, prefetch_buffer_size=None, num_parallel_reads=None, sloppy=False,
    num_rows_for_inference=100, compression_type=None, ignore_errors=False, encoding="utf-8",
):  # fmt: skip
    """Batches of {column: vector}, or (that, labels); names come from the first line and dtypes from the first rows."""
    files = _matching(file_pattern)
    rows = _Rows(files, field_delim, use_quote_delim, compression_type, encoding)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = rows.first()
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    chosen = _chosen(column_names, select_columns)
    if column_defaults is None:
        column_defaults = rows.types(header, len(column_names), chosen, na_value, num_rows_for_inference)
    elif select_columns is not None and len(column_defaults) != len(chosen):
        raise ValueError("If specified, column_defaults and select_columns must have the same length.")
    elif select_columns is None and len(column_defaults) > len(column_names):
        raise ValueError("There are more column_defaults than columns.")
    names = [column_names[i] for i in chosen]
    if label_name is not None and label_name not in names:
        raise ValueError("`label_name` provided must be one of the columns.")

    dataset = Dataset.from_tensor_slices(files)
    if shuffle:
        dataset = dataset.shuffle(len(files), shuffle_seed)

    def read(name):
        return CsvDataset(
            name, column_defaults, compression_type, header=header, field_delim=field_delim, use_quote_delim=use_quote_delim,
            na_value=na_value, select_cols=None if select_columns is None else chosen,
        )  # fmt: skip

    dataset = dataset.interleave(read, cycle_length=num_parallel_reads or 1, num_parallel_calls=num_parallel_reads)
    if ignore_errors:
        dataset = dataset.ignore_errors()
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)

    def named(*columns):
        features = collections.OrderedDict(zip(names, columns))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _matching(pattern):
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    files = sorted(name for p in patterns for name in glob.glob(str(p)))
    if not files:
        raise ValueError(f"No files match `file_pattern` {pattern}.")
    return files


def _chosen(column_names, select):
    """The numbers of the columns that are wanted, in order."""
    if select is None:
        return list(range(len(column_names)))
    numbers = [column_names.index(s) if isinstance(s, str) and s in column_names else s for s in select]
    for given in numbers:
        if not isinstance(given, int) or not 0 <= given < len(column_names):
            raise ValueError(f"Specified column {given!r} is not one of the columns.")
    if len(set(numbers)) != len(numbers):
        raise ValueError("Cannot have duplicate columns.")
    return sorted(numbers)


class _Rows:
    """The first rows of the files, to learn names and dtypes from."""

    def __init__(self, files, delimiter, quotes, compression, encoding):
        self._files = files
        self._options = {"delimiter": delimiter, "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE}
        self._compression = compression
        self._encoding = encoding

    def _read(self, name):
        at = 0

        def lines():
            nonlocal at
            for at, line in enumerate(TextLineDataset(name, self._compression).as_numpy_iterator(), 1):
                yield line.decode(self._encoding) + "\n"

        try:
            yield from csv.reader(lines(), **self._options)
        except (csv.Error, UnicodeDecodeError) as error:
            raise InvalidArgumentError(None, None, f"{name}: line {at} is not one of a CSV file: {error}") from None

    def first(self):
        for row in self._read(self._files[0]):
            return row
        raise ValueError(f"Failed when reading the header line of {self._files[0]}. Is it an empty file?")

    def types(self, header, width, chosen, na_value, limit):
        kinds = [None] * len(chosen)
        count = 0
        for name in self._files:
            rows = self._read(name)
            if header:
                next(rows, None)
            for row in rows:
                if len(row) != width:
                    raise ValueError(
                        f"Problem inferring types: CSV row {row} has {len(row)} number of fields. Expected: {width}."
                    )
                kinds = [_wider(kind, row[i], na_value) for kind, i in zip(kinds, chosen)]
                count += 1
                if limit is not None and count >= limit:
                    return [_empty(kind) for kind in kinds]
        return [_empty(kind) for kind in kinds]


_KINDS = ("int32", "int64", "float32", "float64", "string")


def _wider(kind, text, na_value):
    if text in ("", na_value):
        return kind
    here = _kind_of(text)
    return here if kind is None else max(kind, here, key=_KINDS.index)


def _kind_of(text):
    try:
        number = int(text)
        return "int32" if -(2**31) <= number < 2**31 else "int64" if -(2**63) <= number < 2**63 else "string"
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return "string"
    return "float32" if number == 0 or not np.isfinite(number) or 1e-37 < abs(number) < 3e38 else "float64"


def _empty(kind):
    """The value of an empty field."""
    if kind is None or kind == "string":
        return _core.convert_to_tensor([""])
    return _core.convert_to_tensor(np.zeros([1], kind))
