"""Writes the files that tests/python/test_older_files.py reads: run once for each version, by that version.

    PYTHONPATH=build/dev/python .venv/bin/python -m tandem run tools/reference/make_version_files.py

They go into tests/python/data/files-of-VERSION and stay as they are.
"""

import pathlib

import numpy as np
import tandem
import tensorflow as tf

FOLDER = pathlib.Path(__file__).parents[2] / f"tests/python/data/files-of-{tandem.__version__}"


def model():
    """Its weights are numbers that the test knows."""
    made = tf.keras.Sequential([tf.keras.Input((3,), name="x"), tf.keras.layers.Dense(2, activation="relu", name="dense")])
    made.set_weights([np.arange(6, dtype="float32").reshape(3, 2), np.array([0.5, -20.0], "float32")])
    made.compile("sgd", "mse")
    return made


class Counter(tf.Module):
    def __init__(self):
        self.total = tf.Variable([1.0, 2.0])
        self.names = tf.Variable(["a", "b"])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def add(self, x):
        return self.total + tf.reduce_sum(x)


def main():
    FOLDER.mkdir(parents=True)
    model().save(FOLDER / "model.keras")
    model().save_weights(FOLDER / "model.weights.h5")
    model().save(FOLDER / "model.h5")
    model().export(FOLDER / "exported", verbose=False)
    counter = Counter()
    tf.saved_model.save(counter, str(FOLDER / "saved_model"))
    tf.train.Checkpoint(counter=counter, step=tf.Variable(7, dtype=tf.int64)).write(str(FOLDER / "checkpoint"))
    rows = tf.data.Dataset.from_tensor_slices({"x": np.arange(5, dtype="int64"), "s": np.array([b"p", b"q", b"r", b"s", b"t"])})
    rows.save(str(FOLDER / "dataset"))
    with tf.io.TFRecordWriter(str(FOLDER / "records")) as writer:
        for i in range(3):
            feature = {"i": tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


main()
