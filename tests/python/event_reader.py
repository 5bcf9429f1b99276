"""Reads event files for tests: records with their checksums, and the fields of protocol-buffer messages."""

import struct

import numpy as np

_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 9: "<i8", 10: "?"}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(data[at : at + 8])
        body = data[at + 12 : at + 12 + length]
        assert len(body) == length
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(body)
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """{number: [values]} of a message."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
            value = value - (1 << 64) if value >> 63 else value
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            assert kind == 2, kind
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
            assert len(value) == length
        found.setdefault(key >> 3, []).append(value)
    assert at == len(data)
    return found


def tensor(data):
    message = fields(data)
    kind = message[1][0]
    shape = [fields(dim).get(1, [0])[0] for dim in fields(message[2][0]).get(2, [])]
    if kind == 7:
        values = message.get(8, [])
        return values[0] if not shape else np.array(values, object).reshape(shape)
    return np.frombuffer(message.get(4, [b""])[0], _TYPES[kind]).reshape(shape)


class Summary:
    """One value of an event file."""

    def __init__(self, step, data):
        message = fields(data)
        self.step = step
        self.tag = message[1][0].decode()
        self.value = tensor(message[8][0])
        metadata = fields(message[9][0]) if 9 in message else {}
        plugin = fields(metadata[1][0]) if 1 in metadata else {}
        self.plugin = plugin.get(1, [b""])[0].decode()
        self.content = plugin.get(2, [b""])[0]
        self.description = metadata.get(3, [b""])[0].decode()
        self.data_class = metadata.get(4, [0])[0]


def summaries(path):
    """The version, the summaries and the graphs of an event file."""
    version, found, graphs = None, [], []
    for record in records(path):
        event = fields(record)
        assert event[1][0] > 1.6e9  # seconds since 1970
        step = event.get(2, [0])[0]
        if 3 in event:
            version = event[3][0].decode()
        for summary in event.get(5, []):
            found += [Summary(step, value) for value in fields(summary).get(1, [])]
        graphs += event.get(4, [])
    return version, found, graphs


def nodes(graph_def):
    """(name, op, inputs) of the nodes of a GraphDef."""
    for node in map(fields, fields(graph_def).get(1, [])):
        yield node[1][0].decode(), node[2][0].decode(), [name.decode() for name in node.get(3, [])]
