"""The real Keras on Tandem: what this part of it can do."""

import sys

import numpy as np
import pytest

import tandem as tf


@pytest.fixture(scope="module")
def keras():
    return tf.keras


def test_it_is_the_package(keras):
    assert keras is sys.modules["keras"]
    assert keras.backend.backend() == "tensorflow"
    assert keras.src.backend.tensorflow.core.tf is tf
    assert "tensorflow" not in sys.modules
    import keras as plain
    import tandem.keras.layers
    from tandem.keras.layers import Dense

    assert plain is keras is tandem.keras
    assert tandem.keras.layers.Dense is Dense is keras.layers.Dense
    assert keras.__spec__.name == "keras"


def test_flatten_and_dense(keras, capsys):
    model = keras.Sequential([keras.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(10)])
    assert model.output_shape == (None, 10)
    model.summary()
    printed = capsys.readouterr().out
    assert "(None, 784)" in printed and "7,850" in printed
    x = np.random.default_rng().random((4, 28, 28)).astype(np.float32)
    kernel, bias = model.get_weights()
    y = model(x)
    assert isinstance(y, tf.Tensor) and y.shape == (4, 10)
    np.testing.assert_allclose(y.numpy(), x.reshape(4, -1) @ kernel + bias, rtol=1e-5, atol=1e-5)


def test_functional_model(keras):
    a, b = keras.Input((3,)), keras.Input((3,))
    hidden = keras.layers.Dense(4, activation="relu")(keras.layers.Concatenate()([a, b]))
    out = keras.layers.Add()([keras.layers.Dense(3)(hidden), a])
    model = keras.Model([a, b], out * 2 + 1)
    x, y = np.random.default_rng().random((2, 5, 3)).astype(np.float32)
    w1, b1, w2, b2 = model.get_weights()
    expected = (np.maximum(np.concatenate([x, y], 1) @ w1 + b1, 0) @ w2 + b2 + x) * 2 + 1
    np.testing.assert_allclose(model([x, y]).numpy(), expected, rtol=1e-5, atol=1e-5)


def test_subclass_and_gradients(keras):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2, activation="tanh")

        def call(self, x):
            return self.dense(x)

    model = Model()
    x = np.random.default_rng().random((8, 3)).astype(np.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    kernel, bias = model.trainable_variables
    grads = tape.gradient(loss, [kernel, bias])
    y = np.tanh(x @ kernel.numpy() + bias.numpy())
    upstream = 2 * y / y.size * (1 - y * y)
    np.testing.assert_allclose(grads[0].numpy(), x.T @ upstream, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(grads[1].numpy(), upstream.sum(0), rtol=1e-4, atol=1e-6)


def test_losses_and_activations(keras):
    labels, logits = np.array([1, 0]), np.array([[0.5, 1.5], [2.0, -1.0]], np.float32)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits)
    expected = np.mean(np.log(np.exp(logits).sum(1)) - logits[[0, 1], labels])
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
    np.testing.assert_allclose(
        keras.activations.softmax(tf.constant(logits)).numpy(),
        np.exp(logits) / np.exp(logits).sum(1, keepdims=True),
        rtol=1e-5,
    )


def test_seeded_initializers_repeat(keras):
    first = keras.initializers.GlorotUniform(seed=1)((3, 4))
    again = keras.initializers.GlorotUniform(seed=1)((3, 4))
    np.testing.assert_array_equal(first.numpy(), again.numpy())
    limit = np.sqrt(6 / 7)
    assert np.abs(first.numpy()).max() <= limit


def test_another_keras_is_refused(run_python):
    status, out, err = run_python(
        """
        import sys, types
        sys.modules["keras"] = types.ModuleType("keras")
        import tandem as tf
        try:
            tf.keras
        except ImportError as e:
            print(e)
        """
    )
    assert status == 0, err
    assert "one Keras" in out and "install_as_tensorflow" in out


def test_the_environment_is_left_alone(run_python):
    status, out, err = run_python(
        """
        import os
        import tandem as tf
        print(tf.keras.backend.backend(), os.environ.get("KERAS_BACKEND"))
        """,
        env={"KERAS_BACKEND": "jax"},
    )
    assert status == 0, err
    assert out.split() == ["tensorflow", "jax"]
