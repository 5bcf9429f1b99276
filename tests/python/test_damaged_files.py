"""Files that are damaged, cut off or made to harm: TensorFlow's error classes, bounded memory, nothing left behind."""

import gzip
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import pytest
import tandem as tf

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))
import seeds  # noqa: E402
from test_untrusted_saves import graph_with  # noqa: E402

PACK = {"GZIP": gzip.compress, "ZLIB": zlib.compress}


@pytest.fixture
def write(tmp_path):
    def write(contents):
        path = tmp_path / "file"
        path.write_bytes(contents)
        return str(path)

    return write


def elements(dataset):
    return list(dataset.as_numpy_iterator())


# ---- Packed files

RECORDS = [b"abc", b"", b"x" * 5000]
FRAMED = b"".join(map(seeds.record, RECORDS))


@pytest.mark.parametrize("kind", PACK)
def test_packed_files_are_read_as_they_come(kind, write, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = write(PACK[kind](FRAMED))
    dataset = tf.data.TFRecordDataset(path, kind)
    assert elements(dataset) == RECORDS and elements(dataset) == RECORDS
    assert elements(tf.data.TFRecordDataset([path, path], kind.lower(), num_parallel_reads=2)).count(b"abc") == 2
    path = write(PACK[kind](b"one\ntwo\r\n\nlast"))
    assert elements(tf.data.TextLineDataset(path, kind)) == [b"one", b"two", b"", b"last"]
    path = write(PACK[kind](b"HHaabbccF"))
    fixed = tf.data.FixedLengthRecordDataset(path, 2, header_bytes=2, footer_bytes=1, compression_type=kind)
    assert elements(fixed) == [b"aa", b"bb", b"cc"]
    path = write(PACK[kind](b"a,b\n1,x\n2,y\n"))
    assert elements(tf.data.experimental.CsvDataset(path, [tf.int32, tf.string], kind, header=True)) == [(1, b"x"), (2, b"y")]
    # Nothing is unpacked beside them, and nothing is read before it is asked for.
    assert list((tmp_path / "temporary").iterdir()) == []
    tf.data.TFRecordDataset(str(tmp_path / "none"), kind)
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        elements(tf.data.TFRecordDataset(str(tmp_path / "none"), kind))
    assert elements(tf.data.TFRecordDataset(write(b""), kind)) == []


def test_kinds_of_packing_are_known():
    with pytest.raises(ValueError, match="Compression type must be one of"):
        tf.io.TFRecordOptions("SNAP")


def test_gzip_members_follow_one_another(write):
    path = write(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert elements(tf.data.TextLineDataset(path, "GZIP")) == [b"one", b"two"]
    with pytest.raises(tf.errors.DataLossError, match="incorrect header check"):
        elements(tf.data.TextLineDataset(write(gzip.compress(b"one\n") + b"junk"), "GZIP"))


@pytest.mark.parametrize("kind", PACK)
def test_damaged_packed_files(kind, write):
    packed = PACK[kind](FRAMED)
    for cut in range(1, len(packed)):
        with pytest.raises(tf.errors.DataLossError, match=f"file; the file is cut off, at byte {cut} of the {kind} file"):
            elements(tf.data.TFRecordDataset(write(packed[:cut]), kind))
    for at in range(0, len(packed)):
        changed = bytearray(packed)
        changed[at] ^= 0x55
        try:
            assert elements(tf.data.TFRecordDataset(write(bytes(changed)), kind)) == RECORDS
            assert kind == "GZIP" and 3 < at < 10  # what its header says of time and system
        except tf.errors.DataLossError as error:
            assert re.search("file; (inflate.. failed|the file is cut off)|(corrupted|truncated) record at .*file", str(error))
    for contents in (FRAMED, b"plain text\n"):
        with pytest.raises(tf.errors.DataLossError, match=f"incorrect header check, at byte .* of the {kind} file"):
            elements(tf.data.TextLineDataset(write(contents), kind))


@pytest.mark.parametrize("kind", ["", *PACK])
def test_fixed_records_of_another_size(kind, write):
    path = write(PACK.get(kind, bytes)(b"0123456789abcdef"))
    for sizes in ((5, 0, 0), (4, 2, 1), (4, 0, 17), (4, 30, 0), (1 << 39, 0, 0), (1, 1 << 39, 1 << 39)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="file"):
            elements(tf.data.FixedLengthRecordDataset(path, *sizes, compression_type=kind))
    with pytest.raises(tf.errors.InvalidArgumentError, match="none may be above"):
        tf.data.FixedLengthRecordDataset(path, 1 << 62)


# ---- CSV


def read_csv(path, **options):
    return elements(tf.data.experimental.make_csv_dataset(path, 2, num_epochs=1, shuffle=False, **options))


def test_damaged_csv_files(write):
    with pytest.raises(tf.errors.InvalidArgumentError, match="file: line 1 .*can't decode byte 0xff"):
        read_csv(write(b"a,\xff\xfeb\n1,2\n"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="file: line 3 .*can't decode byte 0xff"):
        read_csv(write(b"a,b\n1,2\n1,\xff\n"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="line 2 .*field larger"):
        read_csv(write(b'a,b\n1,"' + b"x" * 200_000 + b'"\n'))
    with pytest.raises(ValueError, match="Failed when reading the header line of .*file. Is it an empty file"):
        read_csv(write(b""))
    with pytest.raises(ValueError, match="Expected: 2"):
        read_csv(write(b"a,b\n1,2\n3\n"))
    for contents in (b"a,b\n1,2\n", gzip.compress(b"a,b\n1,2\n" * 99)[:-9]):
        with pytest.raises(tf.errors.DataLossError, match="of the GZIP file"):
            read_csv(write(contents), compression_type="GZIP")
    packed = read_csv(write(zlib.compress(b"a,b\n1,x\n")), compression_type="ZLIB")
    assert [(k, v.tolist()) for k, v in packed[0].items()] == [("a", [1]), ("b", [b"x"])]


def test_texts_are_defaults(write):
    rows = read_csv(write(b"a,b\n1,\n,x\n"), column_defaults=["none", ""])
    assert [(k, v.tolist()) for k, v in rows[0].items()] == [("a", [b"1", b"none"]), ("b", [b"", b"x"])]


def test_decode_csv_checks_its_columns():
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="negative"):
        tf.io.decode_csv("1,2", [[0]], select_cols=[-1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expect"):
        tf.io.decode_csv("1,2", [[0]], select_cols=[7])


def test_errors_quote_bytes_that_are_no_text(write):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not a valid int32: x\\xff"):
        elements(tf.data.experimental.CsvDataset(write(b"x\xff\n"), [tf.int32]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"x\\xff"):
        tf.io.decode_csv(b"x\xff", [[0]])
    with pytest.raises(tf.errors.NotFoundError, match=r"\\xfe"):
        tf.io.read_file(b"/none/\xfe")


# ---- Messages

field = seeds.field


def an_example(feature, key=b"a"):
    return field(1, 2, field(1, 2, field(1, 2, key) + field(2, 2, feature)))


def parse(message, dtype=tf.int64):
    return tf.io.parse_single_example(message, {"a": tf.io.VarLenFeature(dtype)})["a"].values.numpy().tolist()


def test_examples_with_fields_of_others():
    ints = field(3, 2, field(1, 2, b"\1\2"))
    assert parse(an_example(ints + field(9, 0, 77))) == [1, 2]
    assert parse(field(7, 0, 3) + field(8, 1, bytes(8)) + an_example(ints) + field(9, 5, bytes(4))) == [1, 2]
    assert parse(an_example(b"")) == [] and parse(an_example(field(3, 2, b""))) == [] and parse(b"") == []
    assert parse(an_example(field(3, 2, field(1, 0, 3) + field(1, 2, b"\1\2")))) == [3, 1, 2]
    for other in (field(4, 2, b"zz"), field(9, 0, 77), field(9, 2, ints), field(3, 0, 5), field(1 << 28, 2, b"")):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Key: a, Index: 0.*Unsupported datatype"):
            parse(an_example(other))


@pytest.mark.parametrize(
    "message",
    [
        an_example(field(3, 2, field(1, 5, b"1234"))), an_example(field(3, 2, field(1, 2, b"\1\x80"))),
        an_example(field(3, 2, field(1, 2, b"\x81" * 10 + b"\1"))), an_example(field(2, 2, field(1, 2, b"\1\2\3"))),
        an_example(field(1, 2, field(1, 0, 5))), an_example(field(2, 2, field(1, 2, b"\0" * 4))), b"\xff" * 20,
        b"\x0a\xff\xff\xff\xff\x0f" + b"x", b"\x0a\x05\x0a", b"\x0b\x0c" + an_example(b""), b"\x02\x00",
    ],
)  # fmt: skip
def test_damaged_examples(message):
    with pytest.raises(tf.errors.InvalidArgumentError, match="ParseExample"):
        parse(message)
    assert parse(an_example(message, b"another")) == []  # features that nobody asked for are not looked at


def test_an_example_is_named():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Could not parse example input.*\(example 1\)"):
        tf.io.parse_example([b"", b"\xff"], {"a": tf.io.VarLenFeature(tf.int64)})


def test_defaults_that_do_not_fit():
    for feature in (
        tf.io.FixedLenFeature([3], tf.int64, [1, 2]),
        tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=[1, 2]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="The default has 2 values"):
            tf.io.parse_single_example(b"", {"a": feature})


def a_tensor(dtype, dims, *rest):
    shape = b"".join(field(2, 2, field(1, 0, d)) for d in dims)
    return field(1, 0, dtype) + field(2, 2, shape) + b"".join(rest)


def test_tensor_messages():
    parse = tf.io.parse_tensor
    assert parse(a_tensor(3, [4], field(7, 0, 1), field(7, 0, 2)), tf.int32).numpy().tolist() == [1, 2, 2, 2]
    assert parse(a_tensor(3, [2], field(7, 2, b"\1\2\3")), tf.int32).numpy().tolist() == [1, 2]
    assert parse(a_tensor(3, [2]), tf.int32).numpy().tolist() == [0, 0]
    assert parse(a_tensor(1, [2], field(7, 0, 3)), tf.float32).numpy().tolist() == [0, 0]
    assert parse(a_tensor(7, [3], field(8, 2, b"a"), field(8, 2, b"b")), tf.string).numpy().tolist() == [b"a", b"b", b"b"]
    assert parse(a_tensor(10, [2], field(4, 2, b"\2\0")), tf.bool).numpy().view(np.uint8).tolist() == [1, 0]
    assert parse(a_tensor(8, [1], field(9, 2, struct.pack("<2f", 1, 2))), tf.complex64).numpy()[0] == 1 + 2j


@pytest.mark.parametrize(
    "message",
    [
        a_tensor(3, [-2], field(4, 2, bytes(8))), a_tensor(3, [1 << 40, 1 << 40], field(7, 0, 1)), a_tensor(3, [1 << 40]),
        a_tensor(3, [1 << 40], field(7, 0, 1)), a_tensor(3, [4], field(4, 2, bytes(4))), a_tensor(3, [1] * 300),
        a_tensor(3, [1], field(4, 2, bytes(5))), a_tensor(1, [1]), a_tensor(7, [1 << 50], field(8, 2, b"a")), b"", b"\xff\xff",
        a_tensor(3, [2], field(7, 2, b"\x80")), a_tensor(99, [1]),
    ],
)  # fmt: skip
def test_damaged_tensor_messages(message):
    dtype = tf.string if message[:2] == b"\x08\x07" else tf.int32
    with pytest.raises(tf.errors.InvalidArgumentError, match="ParseTensor|Shape"):
        tf.io.parse_tensor(message, dtype)


# ---- Images


def test_a_gif_is_as_large_as_its_largest_frame():
    pixels = [0, 1, 2, 3] * 3
    whole = (0, 0, 4, 3, pixels, 0, b"")
    for canvas in ((4, 3), (9, 9), (2, 2), (0, 0), (65535, 65535)):
        image = tf.io.decode_gif(seeds.gif_file(canvas, [whole])).numpy()
        assert image.shape == (1, 3, 4, 3) and image[0, 0, :, 0].tolist() == [0, 3, 6, 9]
    # A frame is drawn over the one before it, whatever its header says shall become of that.
    for disposal in range(4):
        control = b"!\xf9\x04" + bytes([disposal << 2 | 1, 0, 0, 2]) + b"\0"
        frames = tf.io.decode_gif(seeds.gif_file((4, 3), [(*whole[:6], control), (1, 1, 2, 1, [3, 2], 0, control)])).numpy()
        assert frames.shape == (2, 3, 4, 3)
        assert frames[0, :, :, 0].tolist() == [[0, 3, 0, 9]] * 3
        assert frames[1, :, :, 0].tolist() == [[0, 3, 0, 9], [0, 9, 0, 9], [0, 3, 0, 9]]
    outside = tf.io.decode_gif(seeds.gif_file((4, 3), [(60000, 60000, 4, 3, pixels, 0, b"")])).numpy()
    assert outside.shape == (1, 3, 4, 3) and not outside.any()
    first = tf.io.decode_image(seeds.gif_file((4, 3), [(0, 0, 2, 1, [1, 2], 0, b""), whole]), expand_animations=False)
    assert first.shape == (3, 4, 3) and first.numpy()[..., 0].tolist() == [[3, 6, 0, 0], [0] * 4, [0] * 4]


def test_frames_before_the_damage_are_given():
    two = seeds.gif_file((4, 3), [(0, 0, 4, 3, [1] * 12, 0, b"")] * 2)
    assert tf.io.decode_gif(two).shape[0] == 2
    assert tf.io.decode_gif(two[:-1]).shape[0] == 2
    assert tf.io.decode_gif(two[:-8]).shape[0] == 1
    for cut in (0, 3, 6, 12, 13, 25, 30, 38):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.io.decode_gif(two[:cut])


def test_images_that_no_memory_is_taken_for(run_python):
    """Their headers are for many gigabytes; the process below may have little more than it needs to start."""
    gif = seeds.gif_file((65535, 65535), [(0, 0, 65535, 65535, [1] * 12, 0, b"")])
    many = seeds.gif_file((1, 1), [(0, 0, 30000, 20000, [1] * 9, 0, b"")] * 9)
    images = [gif, many]
    images += [seeds.png_file(w, h, data=b"\0" * 9) for w, h in ((65535, 65535), (20000, 20000), (999999, 100), (999999, 1), (30000, 6000))]
    whole = seeds.png_file(4, 2)
    for part in (b"tEXt", b"zTXt", b"iTXt", b"iCCP", b"eXIf", b"sPLT", b"PLTE", b"tRNS", b"hIST", b"abCd"):
        images += [whole[:33] + struct.pack(">I", 1_869_574_000) + part + bytes(9)]
    images += [seeds.bmp_file(w, h, 24, bytes(17)) for w, h in ((1 << 30, 1 << 30), (2, -(1 << 31)), (40000, 40000), (2, 2), (0, 2))]
    images += [seeds.bmp_file(2, 20, 24, bytes(60))[:10] + b"\xc4\xff\xff\xff" + seeds.bmp_file(2, 20, 24, bytes(60))[14:]]
    jpeg = tf.io.encode_jpeg(np.zeros((8, 8, 3), np.uint8)).numpy()
    at = jpeg.find(b"\xff\xc0") + 5
    images += [jpeg[:at] + struct.pack(">HH", h, w) + jpeg[at + 4 :] for w, h in ((65500, 65500), (20000, 20000), (8000, 8000))]
    code = f"""
        import resource
        import tandem as tf
        tf.io.decode_image(tf.io.encode_png(tf.zeros([1, 1, 1], tf.uint8))).numpy()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for image in {images!r}:
            try:
                print("taken", tf.io.decode_image(image).shape)
            except tf.errors.InvalidArgumentError:
                pass
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 64 << 10)
    """
    status, out, err = run_python(code)
    assert (status, out) == (0, "True\n"), err


def test_damaged_images():
    for data in (seeds.png_file(4, 2, data=bytes(5)), seeds.png_file(4, 2)[:60], seeds.png_file(0, 2), b"\x89PNG\r\n\x1a\n"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="PNG"):
            tf.io.decode_png(data)
    for data in (b"", b"hello", b"GIF", b"\xff\xd8"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty|format"):
            tf.io.decode_image(data)
    jpeg = tf.io.encode_jpeg((np.arange(40 * 30 * 3) % 251).astype(np.uint8).reshape(30, 40, 3)).numpy()
    for cut in (20, 300, len(jpeg) // 2, len(jpeg) - 40):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid JPEG data"):
            tf.io.decode_jpeg(jpeg[:cut])
    half = tf.io.decode_jpeg(jpeg[: len(jpeg) - 40], try_recover_truncated=True, acceptable_fraction=0.1)
    assert half.shape == (30, 40, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="JPEG does not support 4 channels"):
        tf.io.decode_jpeg(jpeg, channels=4)


# ---- Tables


def table(path, key=0, value=1, **options):
    entries = tf.lookup.TextFileInitializer(path, tf.string, key, tf.int64, value, **options)
    return tf.lookup.StaticHashTable(entries, -1)


def test_files_of_tables(write):
    read = table(write(b"\xff\xfe\t1\r\nb\t2"))
    assert read.lookup(tf.constant([b"\xff\xfe", b"b", b"c"])).numpy().tolist() == [1, 2, -1]
    assert table(write(b"")).size().numpy() == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid number of columns in .*file line 1 .*at least 2 got 1"):
        table(write(b"a\t1\nb\n"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid number of columns"):
        table(write(b"a\t1\n"), key=99)
    with pytest.raises(tf.errors.InvalidArgumentError, match="x"):
        table(write(b"a\tx\n"))
    with pytest.raises(ValueError, match="Invalid key index -7"):
        table(write(b"a\t1\n"), key=-7)
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        table("none")


# ---- Names


def restored(path):
    return tf.train.Checkpoint(v=tf.Variable(1)).read(path)


NAMED = {
    "read_file": tf.io.read_file,
    "write_file": lambda path: tf.io.write_file(path, "x"),
    "matching_files": tf.io.matching_files,
    "records": lambda path: elements(tf.data.TFRecordDataset(path)),
    "packed": lambda path: elements(tf.data.TFRecordDataset(path, "GZIP")),
    "lines": lambda path: elements(tf.data.TextLineDataset(path)),
    "fixed": lambda path: elements(tf.data.FixedLengthRecordDataset(path, 1)),
    "csv": lambda path: elements(tf.data.experimental.CsvDataset(path, [tf.int32])),
    "record_writer": lambda path: tf.io.TFRecordWriter(path).close(),
    "checkpoint_write": lambda path: tf.train.Checkpoint(v=tf.Variable(1)).write(path),
    "checkpoint_read": restored,
    "load_checkpoint": tf.train.load_checkpoint,
    "cache": lambda path: elements(tf.data.Dataset.range(2).cache(path)),
    "snapshot": lambda path: elements(tf.data.Dataset.range(2).snapshot(path)),
    "save": lambda path: tf.data.Dataset.range(2).save(path),
    "saved_model": lambda path: tf.saved_model.save(tf.Module(), path),
    "summary": lambda path: tf.summary.create_file_writer(path).flush(),
    "print": lambda path: tf.print("x", output_stream="file://" + path),
    "table": table,
    "gfile": lambda path: tf.io.gfile.GFile(path).read(),
    "copy": lambda path: tf.io.gfile.copy(path, "other"),
}


@pytest.mark.parametrize("name", NAMED)
def test_names_with_a_zero_byte(name, tmp_path):
    """C's calls would take what stands before the byte for the name."""
    (tmp_path / "there").write_bytes(b"kept")
    with pytest.raises(tf.errors.InvalidArgumentError, match="zero byte"):
        NAMED[name](str(tmp_path / "there\0more"))
    assert [p.name for p in tmp_path.iterdir()] == ["there"] and (tmp_path / "there").read_bytes() == b"kept"


# ---- Messages


def test_a_value_that_stands_for_many():
    def message(size, value=b"", kind=1):
        dim = b"\x08" + size
        return b"\x08" + bytes([kind]) + b"\x12" + bytes([len(dim) + 2]) + b"\x12" + bytes([len(dim)]) + dim + value

    thousand = message(b"\xe8\x07", b"\x2d" + struct.pack("<f", 2.5))
    assert (tf.io.parse_tensor(thousand, tf.float32).numpy() == np.full(1000, 2.5)).all()
    assert (tf.io.parse_tensor(message(b"\xe8\x07"), tf.float32).numpy() == np.zeros(1000)).all()
    for size in (b"\x80\x80\x80\x80\x02", b"\x81\x80\x80\x20"):  # 2^29, 2^26 + 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="are too many"):
            tf.io.parse_tensor(message(size), tf.float32)
    long = b"\x42\x80\x80\x04" + bytes(1 << 16)  # 2^20 times 64 KiB
    with pytest.raises(tf.errors.InvalidArgumentError, match="are too many"):
        tf.io.parse_tensor(message(b"\x80\x80\x40", long, 7), tf.string)


# ---- Fuzzers that cannot run


def test_a_fuzzer_that_cannot_be_built_says_so(tmp_path):
    environment = dict(os.environ, CLANGXX=str(tmp_path / "none"))

    def run(*command):
        return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, env=environment)

    readers = run(FUZZ / "fuzz_readers.py", "--seconds", "1")
    assert readers.returncode == 77 and "NOT RUN" in readers.stdout and "is not there" in readers.stdout
    together = run(FUZZ / "run", "--minutes", "0", "fuzz_readers")
    assert together.returncode == 0 and "0 fuzzers, with findings: none, NOT RUN: fuzz_readers" in together.stdout


# ---- All of them with mutations


def test_mutated_files():
    command = [sys.executable, str(FUZZ / "fuzz_files.py"), "--cases", "400", "--seed", "15"]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 calls, 0 findings" in done.stdout


# ---- Stored graphs


class Choosing(tf.Module):
    """Branches and a loop with operands of every length."""

    SIGNATURE = [tf.TensorSpec([], tf.bool), tf.TensorSpec([None], tf.float32), tf.TensorSpec([3], tf.bool)]

    @tf.function(input_signature=SIGNATURE)
    def run(self, p, x, flags):
        k = tf.range(1000.0)
        y = tf.cond(p, lambda: x * k + 1.0, lambda: tf.zeros([1000]))
        y += tf.switch_case(tf.cast(p, tf.int32), [lambda: 0.0, lambda: 1.0])
        return tf.while_loop(lambda i, y, f: i < 2, lambda i, y, f: (i + 1, y + 1.0, f), (0, y, flags))[1]


def nodes(header, kind):
    return [n for n in header["graph"]["nodes"] if n["kind"] == kind]


def claim_a_length(header):
    for branch in nodes(header, "if")[0]["subgraphs"]:
        for n in branch["nodes"]:
            if n["kind"] == "parameter" and n["outputs"][0]["shape"] == [-1]:
                n["outputs"][0]["shape"] = [1000]


def no_predicate(header):
    next(n for n in nodes(header, "parameter") if n["outputs"][0]["shape"] == [])["outputs"][0]["shape"] = [0]


def three_answers(header):
    condition = nodes(header, "while")[0]["subgraphs"][0]
    flags = [n["outputs"][0]["shape"] == [3] for n in condition["nodes"] if n["kind"] == "parameter"]
    condition["results"] = [[flags.index(True), 0]]


@pytest.fixture
def choosing(tmp_path):
    """What it is when its stored graph was edited."""

    def load(edit):
        tf.saved_model.save(Choosing(), str(tmp_path / "model"))
        for path in (tmp_path / "model").rglob("*.graph"):
            graph_with(path, lambda header: edit(header) or json.dumps(header))
        return tf.saved_model.load(str(tmp_path / "model")).run

    return load


def test_a_branch_that_claims_another_length(choosing):
    run, flags = choosing(claim_a_length), tf.constant([True] * 3)
    assert run(tf.constant(False), tf.ones([2]), flags).numpy().tolist() == [2.0] * 1000
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[2\] vs. \[1000\]"):
        run(tf.constant(True), tf.ones([2]), flags)
    assert run(tf.constant(True), tf.ones([1000]), flags).numpy()[:2].tolist() == [4.0, 5.0]


@pytest.mark.parametrize(
    "edit, words", [(no_predicate, "predicate is no scalar"), (three_answers, "does not give one bool")]
)
def test_a_choice_that_is_no_scalar(choosing, edit, words):
    with pytest.raises(tf.errors.DataLossError, match=words):
        choosing(edit)
