"""Small right files of every format, from which the fuzzers of readers start.

`SEEDS[name]()` gives the inputs of tests/fuzz/readers/NAME.cc, which say what they are made of. Those that Tandem
itself writes are made by Tandem, and absent where its package is not found.
"""

import gzip
import json
import struct
import sys
import tempfile
import zlib
from pathlib import Path


def _varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, kind, value):
    """One field of a message: kind 0 an integer, 2 bytes, 1 and 5 fixed bytes."""
    key = _varint(number << 3 | kind)
    return key + (_varint(value) if kind == 0 else _varint(len(value)) + value if kind == 2 else value)


def _entry(key, feature):
    return field(1, 2, field(1, 2, key) + field(2, 2, feature))


def example():
    ints = field(3, 2, field(1, 2, b"".join(map(_varint, (1, 300, -1)))))
    floats = field(2, 2, field(1, 2, struct.pack("<2f", 1.5, -2)))
    texts = field(1, 2, field(1, 2, b"abc") + field(1, 2, b""))
    unpacked = field(3, 2, field(1, 0, 7)) + field(9, 0, 1)
    yield field(1, 2, _entry(b"i", ints) + _entry(b"f", floats) + _entry(b"t", texts) + _entry(b"u", unpacked))
    yield field(1, 2, _entry(b"f", field(2, 2, field(1, 5, b"\0\0\0@")))) + field(7, 1, b"12345678") + field(8, 2, b"x")


def tensor():
    shape = field(2, 2, field(2, 2, field(1, 0, 2)) + field(2, 2, field(1, 0, 3)))
    for chooser, (dtype, rest) in enumerate([
        (1, field(4, 2, bytes(24))), (2, field(6, 2, bytes(48))), (3, field(7, 2, b"\1\2\3")), (4, field(7, 0, 200)),
        (7, field(8, 2, b"ab") + field(8, 2, b"")), (8, field(9, 2, bytes(8))), (10, field(11, 2, b"\1\0")),
        (14, field(13, 2, _varint(0x3F80))), (9, field(10, 0, -5)), (23, field(17, 2, b"\1")), (18, field(12, 2, bytes(16))),
    ]):  # fmt: skip
        yield bytes([chooser]) + field(1, 0, dtype) + shape + rest


_CRC_TABLE = []
for _i in range(256):
    for _ in range(8):
        _i = _i >> 1 ^ (0x82F63B78 if _i & 1 else 0)
    _CRC_TABLE.append(_i)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def records():
    plain = record(b"one") + record(b"") + record(b"x" * 300)
    for text in (plain, b"a\nb\r\n\nlast"):
        for chooser, pack in enumerate((bytes, gzip.compress, zlib.compress)):
            yield bytes([chooser]) + pack(text)
    yield b"\1" + gzip.compress(b"two\n") + gzip.compress(b"members\n")


def csv():
    for line in (b"1,2.5,abc", b'"a ""b""",,"c,d"', b"-1e-40, +7 ,inf", b""):
        yield b",\1" + line
        yield b"\t\0" + line.replace(b",", b"\t")


def _lzw(pixels, least):
    """Pixels as codes that are all of one width."""
    word = held = 0
    out = bytearray()
    codes = [c for i, p in enumerate(pixels) for c in ([1 << least, p] if i % 2 == 0 else [p])] + [(1 << least) + 1]
    for code in codes:
        word |= code << held
        held += least + 1
        while held >= 8:
            out.append(word & 255)
            word >>= 8
            held -= 8
    out.append(word & 255)
    parts = [bytes(out[i : i + 255]) for i in range(0, len(out), 255)]
    return bytes([least]) + b"".join(bytes([len(p)]) + p for p in parts) + b"\0"


def gif_file(canvas, frames, colours=4, end=b";"):
    """frames: (left, top, width, height, pixels, flags, what stands before it)."""
    bits = colours.bit_length() - 1
    out = b"GIF89a" + struct.pack("<HHBBB", *canvas, 0x80 | (bits - 1), 0, 0) + bytes(range(3 * colours))
    for left, top, width, height, pixels, flags, before in frames:
        out += before + b"," + struct.pack("<HHHHB", left, top, width, height, flags) + _lzw(pixels, max(bits, 2))
    return out + end


def gif():
    control = b"!\xf9\x04\x09\x05\x00\x02\x00"
    whole = (0, 0, 4, 3, [0, 1, 2, 3] * 3, 0, b"")
    yield gif_file((4, 3), [whole])
    yield gif_file((9, 9), [whole, (1, 1, 2, 1, [3, 2], 0, control)])
    yield gif_file((4, 9), [(0, 0, 4, 9, [1, 2, 3, 0] * 9, 64, b"!\xfe\x02hi\x00")])


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_file(width, height, bits=8, colour=2, data=None, before=b"", interlaced=0):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    row = b"\0" + bytes(i * 5 & 255 for i in range((width * channels * bits + 7) // 8))
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
    packed = zlib.compress(row * height if data is None else data)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + before + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def png():
    palette = _chunk(b"PLTE", bytes(range(48)))
    chooser = 0
    for bits, colour in ((1, 0), (2, 0), (8, 0), (16, 0), (8, 2), (16, 2), (4, 3), (8, 4), (16, 4), (8, 6), (16, 6)):
        before = palette if colour == 3 else b""
        if colour < 4:
            before += _chunk(b"tRNS", b"\0\5" if colour != 2 else b"\0\5\0\7\0\x0b")
        yield bytes([chooser % 10]) + png_file(5, 3, bits, colour, before=before)
        chooser += 1


# 8x8 grey, 16x16 colour with halved chroma, and the first one progressive.
_JPEGS = [
    "ffd8ffdb004300" + "10" * 64 + "ffc0000b080008000801011100ffc40014000100000000000000000000000000000003ffc40014"
    "100100000000000000000000000000000000ffda0008010100003f0047ffd9",
]  # fmt: skip


def jpeg():
    for text in _JPEGS:
        for chooser in (0, 1, 2, 16, 20, 66):
            yield bytes([chooser]) + bytes.fromhex(text)
    for contents in _written("jpeg"):
        for chooser in (0, 1, 6, 18, 34, 66):
            yield bytes([chooser]) + contents


def bmp_file(width, height, bits, data):
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54 + len(data), 0, 0, 54, 40, width, height, 1, bits, 0, 0, 0, 0, 0, 0) + data


def bmp():
    yield b"\0" + bmp_file(2, 2, 24, bytes(range(16)))
    yield b"\1" + bmp_file(3, -2, 8, bytes(range(8)))
    yield b"\3" + bmp_file(1, 2, 32, bytes(range(8)))


def _written(what):
    """Files that Tandem writes; none where its package is not there."""
    try:
        import tandem as tf
    except ImportError as error:
        print(f"seeds: no files that Tandem writes ({what}): {error}", file=sys.stderr)
        return
    if what == "jpeg":
        pixels = tf.cast(tf.random.stateless_uniform([17, 19, 3], [1, 2], 0, 255, tf.int32), tf.uint8)
        yield tf.io.encode_jpeg(pixels).numpy()
        yield tf.io.encode_jpeg(pixels, progressive=True, chroma_downsampling=False).numpy()
        yield tf.io.encode_jpeg(pixels[..., :1]).numpy()
        return
    with tempfile.TemporaryDirectory() as folder:
        if what == "checkpoint":
            weights = [tf.Variable(tf.reshape(tf.range(6.0), [2, 3])), tf.Variable(["a", "", "ccc"]), tf.Variable(7)]
            tf.train.Checkpoint(weights=weights).write(f"{folder}/c")
            index = Path(f"{folder}/c.index").read_bytes()
            data = next(Path(folder).glob("c.data*")).read_bytes()
            yield index[20:] + b"\0" + data[8:]
        else:
            model = tf.Module()
            model.v = tf.Variable([1.0, 2.0])

            @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([], tf.int32)])
            def run(x, n):
                y = tf.nn.relu(x @ tf.constant([[1.0, 2.0], [3.0, 4.0]])) + model.v
                for _ in range(n):
                    y = tf.cond(tf.reduce_sum(y) > 100.0, lambda: y / 2.0, lambda: y * 2.0)  # noqa: B023
                return {"y": y, "name": tf.strings.as_string(tf.shape(y))}

            model.run = run
            tf.saved_model.save(model, f"{folder}/m")
            for path in sorted(Path(f"{folder}/m").rglob("*")):
                contents = path.read_bytes() if path.is_file() else b""
                if contents.startswith(b"TDMGRAPH"):
                    header = struct.unpack_from("<Q", contents, 12)[0]
                    yield contents[36 : 36 + header] + b"\0" + contents[36 + header :]


def checkpoint():
    yield from _written("checkpoint")


def graph():
    yield from _written("graph")


def plan():
    for contents in _written("graph"):
        header, binary = contents.split(b"\0", 1)
        graph = json.loads(header)
        yield json.dumps({"planned": {"graph": [0, len(binary)], "plan": {}, **graph}}).encode() + b"\0" + binary


def prebuilt():
    yield b""
    yield b"\x30\0\xff" b"\x80"


def element():
    def component(dtype, dims, data):
        return bytes([len(dtype)]) + dtype + bytes([len(dims)]) + b"".join(struct.pack("<q", d) for d in dims) + data

    yield struct.pack("<I", 2) + component(b"float32", [2], bytes(8)) + component(b"int64", [], bytes(8))
    yield struct.pack("<I", 1) + component(b"string", [2], struct.pack("<Q", 1) + b"a" + struct.pack("<Q", 0))


SEEDS = {
    make.__name__: make
    for make in (bmp, checkpoint, csv, element, example, gif, graph, jpeg, plan, png, prebuilt, records, tensor)
}
