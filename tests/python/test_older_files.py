"""Files of every older version are read (docs/stability.md); tools/reference/make_version_files.py wrote them."""

import numpy as np
import pytest
import tandem as tf
from conftest import ROOT

FOLDERS = sorted((ROOT / "tests/python/data").glob("files-of-*"))
X = np.array([[1.0, 2.0, 3.0]], "float32")
# relu(x @ [[0, 1], [2, 3], [4, 5]] + [0.5, -20])
Y = np.array([[16.5, 2.0]], "float32")


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name.removeprefix("files-of-"))
def files(request):
    return request.param


def test_there_is_a_folder():
    assert "files-of-0.1.0" in [folder.name for folder in FOLDERS]


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_models(files, name):
    np.testing.assert_allclose(tf.keras.models.load_model(files / name, compile=False).predict(X, verbose=0), Y)


def test_weights(files):
    model = tf.keras.Sequential([tf.keras.Input((3,), name="x"), tf.keras.layers.Dense(2, activation="relu", name="dense")])
    model.load_weights(files / "model.weights.h5")
    np.testing.assert_allclose(model(X), Y)


def test_exported(files):
    np.testing.assert_allclose(tf.saved_model.load(str(files / "exported")).serve(X), Y)


def test_saved_model(files):
    loaded = tf.saved_model.load(str(files / "saved_model"))
    np.testing.assert_allclose(loaded.add(tf.constant([3.0, 4.0])), [8.0, 9.0])
    assert loaded.names.numpy().tolist() == [b"a", b"b"]


def test_checkpoint(files):
    class Counter(tf.Module):
        total = None

    counter, step = Counter(), tf.Variable(0, dtype=tf.int64)
    counter.total, counter.names = tf.Variable([0.0, 0.0]), tf.Variable(["", ""])
    tf.train.Checkpoint(counter=counter, step=step).read(str(files / "checkpoint")).assert_consumed()
    assert step.numpy() == 7 and counter.total.numpy().tolist() == [1.0, 2.0]


def test_dataset_and_records(files):
    rows = list(tf.data.Dataset.load(str(files / "dataset")))
    assert [(int(row["x"]), row["s"].numpy()) for row in rows] == list(enumerate([b"p", b"q", b"r", b"s", b"t"]))
    found = []
    for record in tf.data.TFRecordDataset(str(files / "records")):
        found.append(int(tf.io.parse_single_example(record, {"i": tf.io.FixedLenFeature([], tf.int64)})["i"]))
    assert found == [0, 1, 2]
