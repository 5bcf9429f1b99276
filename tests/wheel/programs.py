"""What a user does with an installed wheel, with every library that it brings; run by `tandem run`."""

import os
import tempfile

import numpy as np
import tensorflow as tf

rng = np.random.default_rng()


def trains():
    x = rng.normal(size=(512, 8)).astype("float32")
    y = (x.sum(axis=1) > 0).astype("int64")
    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    data = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a * 1.0, b), num_parallel_calls=2).batch(32).prefetch(2)
    history = model.fit(data, epochs=20, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert model.evaluate(x, y, verbose=0)[1] > 0.85
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        again = tf.keras.models.load_model(path)
        np.testing.assert_allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)


def convolves():
    images = tf.random.normal((4, 16, 16, 3))
    filters = tf.random.normal((3, 3, 3, 8))
    assert tf.nn.conv2d(images, filters, 1, "SAME").shape == (4, 16, 16, 8)


def decodes():
    image = tf.constant(rng.integers(0, 256, (20, 30, 3)), tf.uint8)
    assert np.array_equal(tf.io.decode_png(tf.io.encode_png(image)), image)
    assert tf.io.decode_jpeg(tf.io.encode_jpeg(image)).shape == (20, 30, 3)
    assert tf.strings.regex_replace("a12b", "[0-9]+", "-").numpy() == b"a-b"


def compresses():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "records")
        with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression_type="GZIP")) as writer:
            writer.write(b"one")
        assert [r.numpy() for r in tf.data.TFRecordDataset(path, "GZIP")] == [b"one"]


def decomposes():
    a = rng.normal(size=(60, 60))
    a = a @ a.T + 60 * np.eye(60)
    np.testing.assert_allclose(tf.linalg.inv(a) @ a, np.eye(60), atol=1e-9)
    np.testing.assert_allclose(tf.linalg.eigvalsh(a), np.linalg.eigvalsh(a), rtol=1e-9)
    s, u, v = tf.linalg.svd(a)
    np.testing.assert_allclose(u @ tf.linalg.diag(s) @ tf.transpose(v), a, atol=1e-8)


def throws():
    """Exceptions of C++ come through the library, the module and a function of Python between them."""
    try:
        tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
    except tf.errors.InvalidArgumentError as error:
        assert "MatMul" in str(error) or "shape" in str(error).lower(), error
    else:
        raise AssertionError("no error")

    def fails(_):
        raise ValueError("from within")

    try:
        list(tf.data.Dataset.range(3).map(lambda x: tf.py_function(fails, [x], tf.int64)))
    except tf.errors.OpError as error:
        assert "from within" in str(error), error
    else:
        raise AssertionError("no error")
    try:
        tf.io.read_file("/no/such/file")
    except tf.errors.NotFoundError:
        pass


for program in (trains, convolves, decodes, compresses, decomposes, throws):
    program()
    print(program.__name__)
print("all programs ran")
