"""What test_keras2.py runs with TF_USE_LEGACY_KERAS=1; prints a word for each part that went well."""

import os
import tempfile

import numpy as np
import tensorflow as tf

keras = tf.keras
assert keras.__name__ == "tf_keras.api._v2.keras", keras
rng = np.random.default_rng(0)
x = rng.random((64, 4), dtype="float32")
y = x.sum(1, keepdims=True)


def losses(model, **kwargs):
    return model.fit(x, y, verbose=0, shuffle=False, **kwargs).history["loss"]


def small():
    return keras.Sequential([keras.layers.Dense(8, activation="relu", input_shape=(4,)), keras.layers.Dense(1)])


def fit():
    """Compiled, several steps in one call and eager: the same losses from the same weights."""
    first = small()
    found = []
    for options in ({}, {"steps_per_execution": 4}, {"run_eagerly": True}):
        model = small()
        model.set_weights(first.get_weights())
        model.compile(keras.optimizers.SGD(0.05), "mse", metrics=["mae"], **options)
        found.append(losses(model, batch_size=8, epochs=2))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-4)
    assert found[0][1] < found[0][0]
    assert model.predict(x, verbose=0).shape == (64, 1)


def operators():
    """tf functions and operators build models, which config and back keeps."""
    first, second = keras.Input([4]), keras.Input([4])
    out = tf.nn.relu(2.0 * first + second) / (1.0 + tf.abs(second)) - first[:, :1]
    model = keras.Model([first, second], out)
    again = keras.Model.from_config(model.get_config())
    expected = np.maximum(2 * x + x, 0) / (1 + np.abs(x)) - x[:, :1]
    for each in (model, again):
        np.testing.assert_allclose(each([x, x]), expected, rtol=1e-5)
    assert len({layer.name for layer in model.layers}) == len(model.layers)


def saving():
    model = small()
    model.compile("adam", "mse")
    losses(model)
    folder = tempfile.mkdtemp()
    for name in ("m.keras", "m.h5", "m"):
        path = os.path.join(folder, name)
        model.save(path, save_format="tf" if name == "m" else None)
        np.testing.assert_allclose(keras.models.load_model(path).predict(x, verbose=0), model.predict(x, verbose=0))
    served = tf.saved_model.load(path).signatures["serving_default"](tf.constant(x))
    np.testing.assert_allclose(next(iter(served.values())), model.predict(x, verbose=0), rtol=1e-6)
    model.save_weights(os.path.join(folder, "w"))
    other = small()
    other.load_weights(os.path.join(folder, "w")).expect_partial()
    np.testing.assert_allclose(other.predict(x, verbose=0), model.predict(x, verbose=0))


def recurrent():
    """The single ops give what the loops of unrolled layers give."""
    inputs = rng.random((2, 5, 3), dtype="float32")
    for kind in (keras.layers.LSTM, keras.layers.GRU):
        layer, loop = kind(4, return_sequences=True), kind(4, return_sequences=True, unroll=True)
        loop.build(inputs.shape)
        layer.build(inputs.shape)
        loop.set_weights(layer.get_weights())
        np.testing.assert_allclose(layer(inputs), loop(inputs), rtol=1e-4, atol=1e-5)


def mixed():
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = small()
        model.compile(keras.optimizers.SGD(0.01), "mse")
        assert np.isfinite(losses(model)[0])
        assert model.trainable_variables[0].dtype == tf.float32 and model(x).dtype == tf.float16
    finally:
        keras.mixed_precision.set_global_policy("float32")


def step():
    """A train_step of the program's own; layers in a list are found."""

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.parts = [keras.layers.Dense(4), keras.layers.Dense(1)]
            self.mean = keras.metrics.Mean("mean")

        def call(self, inputs, training=None):
            for part in self.parts:
                inputs = part(inputs)
            return inputs

        def train_step(self, data):
            inputs, wanted = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(inputs, training=True) - wanted) ** 2)
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
            self.mean.update_state(loss)
            return {"mean": self.mean.result()}

    model = Model()
    model.compile("adam")
    assert "mean" in model.fit(x, y, verbose=0).history and len(model.trainable_variables) == 4


def preprocessing():
    text = keras.layers.TextVectorization()
    text.adapt(["a b c", "a c"])
    assert text(["a b"]).numpy().tolist() == [[3, 4]] or text(["a b"]).shape == (1, 2)
    normal = keras.layers.Normalization()
    normal.adapt(x)
    np.testing.assert_allclose(np.mean(normal(x), 0), np.zeros(4), atol=1e-5)
    assert keras.layers.StringLookup(vocabulary=["a", "b"])(["b", "z"]).numpy().tolist() == [2, 0]


for part in (fit, operators, saving, recurrent, mixed, step, preprocessing):
    part()
    print(part.__name__)
