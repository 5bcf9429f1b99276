"""Writers on a full disk: a save that fails says so and leaves what was saved before; a file that grows keeps what was
flushed and goes on when there is room again."""

import contextlib
import csv
import gzip
import os
import resource
import subprocess
import sys
import zlib

import pytest
import tandem as tf
from conftest import ROOT, environment
from tandem import keras

WRITERS = [
    "keras", "weights", "sharded_weights", "h5", "model_checkpoint", "backup", "dataset", "cache", "snapshot", "saved_model",
    "checkpoint", "manager",
]  # fmt: skip


@pytest.fixture(scope="module")
def report():
    program = ROOT / "tests/python/full_disk_writers.py"
    ran = subprocess.run([sys.executable, program], env=environment(), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("writer", WRITERS)
def test_a_save_onto_a_full_disk_leaves_the_one_before(report, writer):
    line = next((line for line in report.splitlines() if line.startswith(f"{writer}: 4 saves")), report)
    assert line.endswith(" 0 wrong") and " 0 refused" not in line, report


@contextlib.contextmanager
def full(path, room=0):
    """No file may become larger than that file is now, and some bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def steps(path):
    return [event.step for event in tf.compat.v1.train.summary_iterator(path) if event.HasField("summary")]


@pytest.mark.parametrize("room", [0, 1, 11, 12, 13, 50, 400])
def test_summaries_lose_nothing_that_was_flushed(tmp_path, room):
    writer = tf.summary.create_file_writer(tmp_path, max_queue=5)
    with writer.as_default():
        for step in range(1, 9):
            tf.summary.scalar("x", 0.5, step=step)
        writer.flush()
        with full(writer.path, room):
            with pytest.raises(tf.errors.ResourceExhaustedError, match="tfevents.*cannot be written"):
                for step in range(9, 100):
                    tf.summary.scalar("x", 0.5, step=step)
            # No half of an event at the end.
            there = steps(writer.path)
            assert there == list(range(1, len(there) + 1)) and len(there) >= 8
            with pytest.raises(tf.errors.ResourceExhaustedError):
                writer.flush()
            with pytest.raises(tf.errors.ResourceExhaustedError):
                writer.close()
        tf.summary.scalar("x", 0.5, step=step + 1)
        writer.flush()
    assert steps(writer.path) == list(range(1, step + 2))
    writer.close()


def test_summaries_of_a_function_say_it(tmp_path):
    writer = tf.summary.create_file_writer(tmp_path, max_queue=0)

    @tf.function
    def step(x):
        with writer.as_default():
            tf.summary.scalar("x", x, step=1)
        return x

    step(tf.constant(1.0))
    writer.flush()
    with full(writer.path):
        with pytest.raises(tf.errors.ResourceExhaustedError, match="cannot be written"):
            step(tf.constant(2.0))
    step(tf.constant(3.0))
    assert steps(writer.path) == [1, 1, 1]


def test_the_callback_of_tensorboard_says_it(tmp_path):
    board = keras.callbacks.TensorBoard(tmp_path, write_graph=False)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    board.set_model(model)
    board.on_train_begin()
    board.on_epoch_end(0, {"loss": 1.0})
    board._train_writer.flush()
    path = board._train_writer.path
    before = steps(path)
    with full(path):
        with pytest.raises(tf.errors.ResourceExhaustedError):
            board.on_epoch_end(1, {"loss": 1.0})
            board.on_train_end()
    assert steps(path)[: len(before)] == before


def records_until_damage(path, kind):
    """The records of a file that nobody has closed, and whether its end is missing."""
    records = []
    try:
        for record in tf.data.TFRecordDataset(path, kind).as_numpy_iterator():
            records.append(record)
    except tf.errors.DataLossError as e:
        assert "cut off" in str(e)
        return records, True
    return records, False


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_records_lose_nothing_that_was_flushed(tmp_path, kind):
    path = str(tmp_path / "records")
    first, second = os.urandom(100), os.urandom(100)
    writer = tf.io.TFRecordWriter(path, kind)
    writer.write(first)
    writer.flush()
    with full(path, 60):
        writer.write(second)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="records; cannot be written"):
            writer.flush()
        # A packed file has an end of its own, which comes when it is closed.
        assert records_until_damage(path, kind) == ([first], kind != "")
        with pytest.raises(tf.errors.ResourceExhaustedError, match="records; cannot be written"):
            writer.close()
    writer.close()
    assert records_until_damage(path, kind) == ([first, second], False) and os.listdir(tmp_path) == ["records"]
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        writer.write(b"x")


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_the_end_of_a_packed_file_waits_for_room(tmp_path, kind):
    path = str(tmp_path / "records")
    writer = tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(kind, compression_level=9))
    writer.write(b"a" * 1000)
    writer.flush()
    with full(path), pytest.raises(tf.errors.ResourceExhaustedError, match="records; cannot be written"):
        writer.close()
    assert records_until_damage(path, kind) == ([b"a" * 1000], True)
    writer.close()
    assert records_until_damage(path, kind) == ([b"a" * 1000], False)
    unpack = gzip.decompress if kind == "GZIP" else zlib.decompress
    with open(path, "rb") as file:
        assert unpack(file.read()).count(b"a" * 1000) == 1




def test_a_device_that_is_full(tmp_path):
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full"):
        with tf.io.TFRecordWriter("/dev/full") as writer:
            writer.write(b"x")
            writer.flush()
    link = tmp_path / "checkpoint"
    link.symlink_to("/dev/full")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full"):
        tf._core.write_file(str(link), b"x")


def test_ops_that_write(tmp_path):
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full"):
        tf.io.write_file("/dev/full", "x")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full"):
        tf.function(lambda x: tf.print(x, output_stream="file:///dev/full"))(tf.constant(1))


def test_rows_of_a_csv_logger(tmp_path):
    path = str(tmp_path / "log.csv")
    logger = keras.callbacks.CSVLogger(path)
    logger.on_train_begin()
    logger.on_epoch_end(0, {"loss": 0.5})
    with full(path, 3):
        with pytest.raises(OSError):
            logger.on_epoch_end(1, {"loss": 0.25})
    logger.on_epoch_end(2, {"loss": 0.125})
    logger.on_train_end()
    with open(path, newline="", encoding="utf-8") as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["0", "1", "2"]


def test_a_csv_logger_goes_on_after_a_cut_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"epoch,loss\r\n0,0.5\r\n1,0.2")
    logger = keras.callbacks.CSVLogger(str(path), append=True)
    logger.on_train_begin()
    logger.on_epoch_end(2, {"loss": 0.125})
    logger.on_train_end()
    assert path.read_bytes().splitlines()[:3] == [b"epoch,loss", b"0,0.5", b"1,0.2"]
    assert path.read_bytes().splitlines()[3].startswith(b"2,0.125")
