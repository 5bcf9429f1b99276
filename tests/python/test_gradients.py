"""GradientTape from Python."""

import gc

import numpy as np
import pytest

import tandem as tf


def test_structures():
    w, b = tf.Variable([[1.0, 2.0]]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(w * w) + b
    grads = tape.gradient(y, {"w": w, "b": [b]})
    assert set(grads) == {"w", "b"}
    np.testing.assert_allclose(grads["w"].numpy(), [[2.0, 4.0]])
    assert grads["b"][0].numpy() == 1


def test_once_unless_persistent():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x).numpy() == 4
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, x * x * x
    assert tape.gradient(y, x).numpy() == 4 and tape.gradient(z, x).numpy() == 12


def test_unconnected():
    x, y = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        z = x * 1.0
    assert tape.gradient(z, y) is None
    zero = tape.gradient(z, y, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert zero.numpy().tolist() == [0, 0]
    assert tape.gradient(z, [y], unconnected_gradients="zero")[0].shape == (2,)


def test_second_order_and_jacobian():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
        first = inner.gradient(y, x)
    np.testing.assert_allclose(first.numpy(), [3, 12])
    np.testing.assert_allclose(outer.gradient(first, x).numpy(), [6, 12])
    with tf.GradientTape() as tape:
        y = x * x
    np.testing.assert_allclose(tape.jacobian(y, x).numpy(), np.diag([2.0, 4.0]))


def test_watching():
    frozen, trainable = tf.Variable(1.0, trainable=False), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = frozen * trainable
    assert [v.ref() for v in tape.watched_variables()] == [trainable.ref()]
    assert tape.gradient(y, [frozen, trainable])[0] is None
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = trainable * 2
    assert tape.gradient(y, trainable) is None
    with pytest.raises(ValueError, match="not tf.Tensor"), tf.GradientTape() as tape:
        tape.watch(1.0)


def test_stop_recording():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            unseen = x * x * x
    assert tape.gradient(unseen + y, x) is None
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            x * 2
        y = y * x
    assert tape.gradient(y, x).numpy() == 27


def test_gather_gives_slices():
    table = tf.Variable(np.arange(8.0).reshape(4, 2))
    with tf.GradientTape() as tape:
        rows = tf.gather(table, [1, 3, 1])
        loss = tf.reduce_sum(rows)
    grad = tape.gradient(loss, table)
    assert isinstance(grad, tf.IndexedSlices)
    assert grad.shape == (4, 2)
    dense = tf.convert_to_tensor(grad).numpy()
    np.testing.assert_allclose(dense, [[0, 0], [2, 2], [0, 0], [1, 1]])
    table.scatter_sub(grad)
    np.testing.assert_allclose(table.numpy(), np.arange(8.0).reshape(4, 2) - dense)


def test_output_gradients():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_allclose(tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0])).numpy(), [2, 40])


def test_custom_gradient():
    @tf.custom_gradient
    def clipped(x):
        return x * x, lambda upstream: upstream * 100.0

    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = clipped(x) * 2.0
    assert y.numpy() == 18
    assert tape.gradient(y, x).numpy() == 200


def test_error_in_a_custom_gradient_reaches_the_caller():
    @tf.custom_gradient
    def broken(x):
        def grad(upstream):
            raise KeyError("no gradient here")

        return x * 1.0, grad

    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = broken(x)
    with pytest.raises(KeyError, match="no gradient here"):
        tape.gradient(y, x)


def test_tapes_let_go_of_memory():
    before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    for _ in range(5):
        x = tf.Variable(np.ones(1 << 18, np.float32))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.exp(x) * x)
        tape.gradient(y, x)
        del x, y, tape
    gc.collect()
    assert tf.config.experimental.get_memory_info("CPU:0")["current"] <= before + (1 << 20)


def test_training_reaches_the_solution():
    rng = np.random.default_rng()
    true = rng.normal(size=(3, 1)).astype(np.float32)
    data = rng.normal(size=(256, 3)).astype(np.float32)
    w = tf.Variable(tf.zeros((3, 1)))
    for _ in range(200):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.constant(data) @ w - data @ true) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
    np.testing.assert_allclose(w.numpy(), true, atol=1e-3)
