"""Symbolic tensors: what tracing knows about shapes and values."""

import pytest

import tandem as tf


@pytest.fixture
def graph():
    graph = tf.__internal__.FuncGraph("test")
    with graph.as_default():
        yield graph


def placeholder(*shape, dtype=tf.float32):
    return tf.compat.v1.placeholder(dtype, shape)


def test_shapes_flow(graph):
    x = placeholder(None, 28, 28)
    assert not tf.executing_eagerly()
    assert x.shape == [None, 28, 28]
    flat = tf.reshape(x, (tf.shape(x)[0], 784))
    assert flat.shape == [None, 784]
    assert tf.matmul(flat, tf.ones((784, 10))).shape == [None, 10]
    assert (x + 1).shape == [None, 28, 28] and x[:, 0].shape == [None, 28]
    assert tf.concat([x, x], 1).shape == [None, 56, 28]
    assert tf.reduce_sum(x, axis=0).shape == [28, 28]


def test_they_have_no_value(graph):
    x = placeholder(2)
    for use in (bool, int, float, list, iter):
        with pytest.raises((TypeError, NotImplementedError)):
            use(x)
    with pytest.raises(NotImplementedError, match="numpy"):
        x.numpy()
    assert "shape=(2,)" in repr(x) and x.graph is graph
    assert tf.get_static_value(x) is None
    assert tf.get_static_value(tf.shape(x)).tolist() == [2]


def test_set_shape(graph):
    x = tf.compat.v1.placeholder(tf.float32)
    assert x.shape.rank is None
    x.set_shape((None, 3))
    assert x.shape == [None, 3]
    with pytest.raises(ValueError):
        x.set_shape((2, 4))


def test_init_scope_runs_eagerly(graph):
    with tf.init_scope():
        assert tf.executing_eagerly()
        assert (tf.constant(1) + 1).numpy() == 2
    v = tf.Variable(lambda: tf.ones(2) + 1)
    assert not tf.executing_eagerly()
    assert (v * 2)._symbolic
    with tf.init_scope():
        assert v.numpy().tolist() == [2, 2]


def test_a_tensor_keeps_its_graph():
    graph = tf.__internal__.FuncGraph("gone")
    with graph.as_default():
        x = placeholder(2) * 2
    del graph
    assert "Mul" in x.name and x.graph.name == "gone"
    with pytest.raises((tf.errors.InvalidArgumentError, TypeError, ValueError)):
        x + 1


def test_placeholders_need_a_graph():
    with pytest.raises(RuntimeError, match="eager"):
        tf.compat.v1.placeholder(tf.float32)
