"""Keras's mixed precision on a GPU: bfloat16, and float16 with loss scaling, train as float32 does."""

import pytest

PROGRAM = """
import numpy as np
import tandem as tf

keras = tf.keras
policy = {policy!r}
keras.mixed_precision.set_global_policy(policy)
keras.utils.set_random_seed(7)
x = np.random.default_rng(1).normal(size=(96, 12, 12, 3)).astype("float32")
# What is learnt: which channel has the largest mean.
y = x.mean((1, 2)).argmax(-1)
model = keras.Sequential([
    keras.Input((12, 12, 3)),
    keras.layers.Conv2D(8, 3, activation="relu"),
    keras.layers.BatchNormalization(),
    keras.layers.LayerNormalization(),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(16, activation="gelu"),
    keras.layers.Dense(3, dtype="float32"),
])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(0.02), loss, metrics=["accuracy"])
history = model.fit(x, y, batch_size=32, epochs=25, verbose=0).history
assert history["loss"][-1] < 0.7 * history["loss"][0], history["loss"]
assert all(v.dtype == "float32" for v in model.trainable_variables)
assert all("GPU" in v.value.device for v in model.trainable_variables), [v.value.device for v in model.variables]
hidden = keras.Model(model.inputs, model.layers[-2].output)
assert keras.backend.standardize_dtype(hidden(x[:2]).dtype) == {compute!r}
scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
assert scaled == (policy == "mixed_float16"), model.optimizer
print("loss", history["loss"][0], history["loss"][-1])
"""

OVERFLOW = """
import numpy as np
import tandem as tf

keras = tf.keras
keras.mixed_precision.set_global_policy("mixed_float16")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.01), initial_scale=2.0**30)
x, y = tf.ones((8, 4)), tf.zeros((8, 1))


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.cast(model(x), tf.float32) - y))
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


before = model.get_weights()[0].copy()
step()
# float16 holds nothing near 2**30: the step is left out, and the scale halves.
assert np.array_equal(model.get_weights()[0], before)
assert float(optimizer.dynamic_scale) == 2.0**29, float(optimizer.dynamic_scale)
for _ in range(40):
    step()
assert not np.array_equal(model.get_weights()[0], before)
assert np.isfinite(model.get_weights()[0]).all()
"""


@pytest.mark.parametrize(
    ("policy", "compute"), [("float32", "float32"), ("mixed_bfloat16", "bfloat16"), ("mixed_float16", "float16")]
)
def test_models_learn(run_python, policy, compute):
    status, out, err = run_python(PROGRAM.format(policy=policy, compute=compute), gpus=1)
    assert status == 0, out + err


def test_an_overflow_leaves_the_step_out(run_python):
    status, out, err = run_python(OVERFLOW, gpus=1)
    assert status == 0, out + err
