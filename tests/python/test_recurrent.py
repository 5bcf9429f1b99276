"""Recurrent layers of Keras as single ops: the same as Keras's own loop, on every device."""

import pytest

CODE = """
import numpy as np
import tandem as tf

L = tf.keras.layers
x = np.random.RandomState(0).randn(3, 5, 4).astype("float32")
for make in (L.LSTM, L.GRU):
    for options in ({}, {"return_sequences": True}, {"go_backwards": True, "return_sequences": True}, {"use_bias": False}):
        whole, loop = make(6, **options), make(6, unroll=True, **options)  # unrolled: Keras's loop
        whole.build(x.shape)
        loop.build(x.shape)
        loop.set_weights(whole.get_weights())
        with tf.GradientTape(persistent=True) as tape:
            results = [tf.reduce_sum(tf.square(layer(x))) for layer in (whole, loop)]
        np.testing.assert_allclose(results[0], results[1], rtol=1e-5)
        for a, b in zip(tape.gradient(results[0], [w.value for w in whole.trainable_weights]),
                        tape.gradient(results[1], [w.value for w in loop.trainable_weights])):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
model = tf.keras.Sequential([tf.keras.Input((5, 4)), L.Bidirectional(L.LSTM(3, return_sequences=True)), L.GRU(2), L.Dense(1)])
model.compile("adam", "mse")
losses = model.fit(x, np.ones((3, 1)), epochs=3, verbose=0).history["loss"]
assert losses[-1] < losses[0]
plan = model.train_function.last_trace.compiled.explain()
place = tf.config.list_logical_devices()[-1].name[-5:]  # the GPU, where there is one
for op in ("Lstm", "LstmGrad", "Gru", "GruGrad"):
    assert f"{place} {op} " in plan, plan
masked = tf.keras.Sequential([tf.keras.Input((5, 4)), L.Masking(), L.LSTM(3)])  # a mask: Keras's loop
assert masked.predict(x, verbose=0).shape == (3, 3)
"""


@pytest.mark.parametrize("gpus", [0, 1])
def test_layers(run_python, gpus):
    status, out, err = run_python(CODE, gpus=gpus)
    assert status == 0, out + err
