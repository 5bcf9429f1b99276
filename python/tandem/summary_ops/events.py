"""Reading event files: tf.compat.v1.train.summary_iterator and the messages it yields.

Messages are read only: attributes under the names of TensorBoard's .proto files, absent ones as their defaults.
"""

import struct

import numpy as np


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data):
    """{number: [values]}: integers, floats and bytes as they are stored."""
    found, at = {}, 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            value = value - (1 << 64) if value >> 63 else value
        elif kind == 2:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            value, size = (struct.unpack_from("<d", data, at)[0], 8) if kind == 1 else (
                struct.unpack_from("<f", data, at)[0], 4)  # fmt: skip
            at += size
        found.setdefault(key >> 3, []).append(value)
    return found


class Message:
    """A message whose class says which fields there are: name → (number, kind, repeated)."""

    FIELDS = {}
    ONEOF = ()

    def __init__(self, data=b""):
        self._data = bytes(data)
        self._fields = _fields(self._data)

    @classmethod
    def FromString(cls, data):  # noqa: N802  (the names that messages have)
        return cls(data)

    def SerializeToString(self):  # noqa: N802
        return self._data

    def HasField(self, name):  # noqa: N802
        return self.FIELDS[name][0] in self._fields

    def WhichOneof(self, group):  # noqa: N802
        return next((name for name in self.ONEOF if self.HasField(name)), None)

    def __getattr__(self, name):
        if name not in self.FIELDS:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        number, kind, repeated = self.FIELDS[name]
        values = [_value(kind, v) for v in self._fields.get(number, [])]
        if repeated:
            return values
        return values[-1] if values else kind()

    def __bool__(self):
        return bool(self._data)

    def __repr__(self):
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.FIELDS if self.HasField(name))
        return f"{type(self).__name__}({shown})"


def _value(kind, stored):
    return stored.decode("utf-8", "replace") if kind is str else kind(stored)


class Dim(Message):
    FIELDS = {"size": (1, int, False), "name": (2, str, False)}


class TensorShapeProto(Message):
    FIELDS = {"dim": (2, Dim, True), "unknown_rank": (3, bool, False)}


class TensorProto(Message):
    FIELDS = {"dtype": (1, int, False), "tensor_shape": (2, TensorShapeProto, False),
              "tensor_content": (4, bytes, False), "string_val": (8, bytes, True)}  # fmt: skip


class PluginData(Message):
    FIELDS = {"plugin_name": (1, str, False), "content": (2, bytes, False)}


class StoredMetadata(Message):
    FIELDS = {"plugin_data": (1, PluginData, False), "display_name": (2, str, False),
              "summary_description": (3, str, False), "data_class": (4, int, False)}  # fmt: skip


class Value(Message):
    FIELDS = {"tag": (1, str, False), "simple_value": (2, float, False), "tensor": (8, TensorProto, False),
              "metadata": (9, StoredMetadata, False), "node_name": (7, str, False)}  # fmt: skip
    ONEOF = ("simple_value", "tensor")


class Summary(Message):
    FIELDS = {"value": (1, Value, True)}


class Event(Message):
    FIELDS = {"wall_time": (1, float, False), "step": (2, int, False), "file_version": (3, str, False),
              "graph_def": (4, bytes, False), "summary": (5, Summary, False)}  # fmt: skip
    ONEOF = ("file_version", "graph_def", "summary")


_DTYPES = {1: "f4", 2: "f8", 3: "i4", 4: "u1", 5: "i2", 6: "i1", 8: "c8", 9: "i8", 10: "?", 17: "u2", 18: "c16",
           19: "f2", 22: "u4", 23: "u8"}  # fmt: skip


def make_ndarray(tensor):
    """The contents of a TensorProto as an array."""
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.dtype == 7:
        return np.array(tensor.string_val, object).reshape(shape)
    if tensor.dtype == 14:
        import ml_dtypes

        return np.frombuffer(tensor.tensor_content, ml_dtypes.bfloat16).reshape(shape)
    if tensor.dtype not in _DTYPES:
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}")
    return np.frombuffer(tensor.tensor_content, _DTYPES[tensor.dtype]).reshape(shape)


def summary_iterator(path):
    """The events of an event file."""
    from tandem.pipeline.readers import tf_record_iterator

    return map(Event.FromString, tf_record_iterator(path))
