"""Datasets of files: tf.data.TextLineDataset, TFRecordDataset, FixedLengthRecordDataset; tf.io.TFRecordWriter."""

import os

from tandem import _core
from tandem.framework import gfile
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.spec import TensorSpec
from tandem.pipeline import structure as nest
from tandem.pipeline.base import BaseDataset
from tandem.pipeline.dataset import Dataset

_data = _core.data
_STRING = nest.Structure(TensorSpec((), "string"))


class _FileDataset(Dataset):
    """A dataset of strings read from files whose names are strings or a dataset of strings."""

    def _read(self, filenames, num_parallel_reads, buffer_size, read):
        if buffer_size is not None and int(buffer_size) < 0:
            raise InvalidArgumentError(None, None, f"`buffer_size` must be >= 0 (0 == default), got {buffer_size}.")
        names = _names(filenames)
        if num_parallel_reads is None or int(num_parallel_reads) == 1:
            core = read(names._core)
        else:
            core = names.interleave(
                lambda name: names._like(read(_data.tensors([name])), self._kind, _STRING),
                cycle_length=-1 if int(num_parallel_reads) < 0 else int(num_parallel_reads),
                num_parallel_calls=num_parallel_reads,
            )._core
        self._core = core
        self._structure = _STRING
        self._options = names._options


def _names(filenames):
    if isinstance(filenames, BaseDataset):
        if filenames.element_spec != TensorSpec((), "string"):
            raise TypeError(
                "The `filenames` argument must contain `tf.string` elements. Got a dataset of "
                f"{filenames.element_spec} elements."
            )
        return filenames
    if isinstance(filenames, os.PathLike):
        filenames = os.fspath(filenames)
    elif isinstance(filenames, (list, tuple)):
        filenames = [os.fspath(name) if isinstance(name, os.PathLike) else name for name in filenames]
    tensor = _core.convert_to_tensor(filenames)
    if tensor.dtype != _core.as_dtype("string"):
        raise TypeError(f"The `filenames` argument must contain `tf.string` elements. Got `{tensor.dtype!r}` elements.")
    return Dataset.from_tensor_slices(_core.execute("Reshape", tensor, [-1]))


def _kind(compression_type):
    kind = str(compression_type or "").upper()
    if kind not in ("", "GZIP", "ZLIB"):
        raise ValueError(f"Compression type must be one of '', 'GZIP' and 'ZLIB', not {compression_type!r}.")
    return kind


class TextLineDataset(_FileDataset):
    """The lines of text files, without their ends."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        self._kind = "TextLineDatasetV2"
        kind = _kind(compression_type)
        self._read(filenames, num_parallel_reads, buffer_size, lambda names: _data.text_lines(names, kind))


class TFRecordDataset(_FileDataset):
    """The records of TFRecord files."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        self._kind = "TFRecordDatasetV2"
        kind = _kind(compression_type)
        self._read(filenames, num_parallel_reads, buffer_size, lambda names: _data.records(names, kind))


def tf_record_iterator(path, options=None):
    """The records of one file, as bytes."""
    with _core.init_scope():
        records = TFRecordDataset(path, compression_type=getattr(options, "compression_type", None)).as_numpy_iterator()
    return records if _core.executing_eagerly() else _read_eagerly(records)


def _read_eagerly(records):
    """What an iterator gives, within a graph."""
    while True:
        with _core.init_scope():
            record = next(records, None)
        if record is None:
            return
        yield record


class FixedLengthRecordDataset(_FileDataset):
    """Records of a fixed number of bytes."""

    def __init__(
        self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None, compression_type=None,
        num_parallel_reads=None, name=None,
    ):  # fmt: skip
        self._kind = "FixedLengthRecordDatasetV2"
        sizes = int(record_bytes), int(header_bytes or 0), int(footer_bytes or 0)
        kind = _kind(compression_type)
        self._read(filenames, num_parallel_reads, buffer_size, lambda names: _data.fixed_records(names, kind, *sizes))


class TFRecordOptions:
    """How records are written; compression and its level are what can be chosen, the rest is accepted."""

    def __init__(
        self, compression_type=None, flush_mode=None, input_buffer_size=None, output_buffer_size=None,
        window_bits=None, compression_level=None, compression_method=None, mem_level=None, compression_strategy=None,
    ):  # fmt: skip
        self.compression_type = compression_type
        _kind(compression_type)
        self.flush_mode, self.input_buffer_size, self.output_buffer_size = flush_mode, input_buffer_size, output_buffer_size
        self.window_bits, self.compression_level, self.compression_method = window_bits, compression_level, compression_method
        self.mem_level, self.compression_strategy = mem_level, compression_strategy


class TFRecordWriter:
    """Writes records to a TFRecord file, packed as they come where the options say so."""

    def __init__(self, path, options=None):
        if isinstance(options, str) or options is None:
            options = TFRecordOptions(options)
        level = options.compression_level
        self._writer = _data.RecordWriter(
            gfile.local_path(path), _kind(options.compression_type), -1 if level is None else level
        )

    def write(self, record):
        if isinstance(record, str):
            record = record.encode()
        self._writer.write(bytes(record.numpy() if isinstance(record, _core.Tensor) else record))

    def flush(self):
        self._writer.flush()

    def close(self):
        self._writer.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
