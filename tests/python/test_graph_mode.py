"""Graph mode beside eager code, in one process."""

import numpy as np
import pytest
import tandem as tf

tf1 = tf.compat.v1


def test_flags_are_absls():
    from absl import flags

    assert tf1.flags is flags and tf1.app.flags is flags


def test_a_graph_leaves_eager_code_alone():
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None], name="x")
        y = tf.add(x, 1.0, name="y")
        assert not tf.executing_eagerly() and y.op.name == "y"
        with tf1.Session() as sess:
            assert sess.run(y, {x: [1.0]}).tolist() == [2.0]
    assert tf.executing_eagerly() and tf.add(1.0, 2.0).numpy() == 3.0
    assert {x: 1}[x] == 1  # tensors of graphs are keys


def test_a_run_is_kept():
    with tf.Graph().as_default(), tf1.Session() as sess:
        x = tf1.placeholder(tf.float32, [None])
        y = x * 2.0
        for size in (1, 2, 3):
            sess.run(y, {x: np.ones(size)})
        sess.run([y], {x: [1.0]})
        assert len(sess._plans) == 2  # by fetches and keys of feeds, not by shapes


def test_only_what_is_fetched_runs():
    with tf.Graph().as_default(), tf1.Session() as sess:
        calls = []
        a = tf.numpy_function(lambda: calls.append("a") or np.float32(1), [], tf.float32)
        b = tf.numpy_function(lambda: calls.append("b") or np.float32(2), [], tf.float32)
        with tf.control_dependencies([b]):
            c = tf.constant(3.0)
        assert sess.run(a) == 1 and calls == ["a"]
        assert sess.run(c) == 3 and calls == ["a", "b"]


def test_optimizers_of_tensorflow_1_run_eagerly():
    w = tf.Variable([1.0, 2.0])
    optimizer = tf1.train.MomentumOptimizer(0.1, 0.9)
    for _ in range(2):
        optimizer.minimize(lambda: tf.reduce_sum(w * w), var_list=[w])
    np.testing.assert_allclose(w.numpy(), [0.46, 0.92], rtol=1e-5)


def test_layers_train_and_move_their_averages():
    with tf.Graph().as_default(), tf1.Session() as sess:
        x, training = tf1.placeholder(tf.float32, [None, 4, 4, 2]), tf1.placeholder(tf.bool, [])
        h = tf1.layers.conv2d(x, 3, 2, activation=tf.nn.relu, kernel_initializer=tf1.ones_initializer())
        h = tf1.layers.batch_normalization(h, training=training, momentum=0.5)
        h = tf1.layers.max_pooling2d(h, 2, 1)
        out = tf1.layers.dense(tf1.layers.dropout(tf1.layers.flatten(h), 0.5, training=training), 1, name="out")
        updates = tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)
        names = [v.name for v in tf1.trainable_variables()]
        assert names == ["conv2d/kernel:0", "conv2d/bias:0", "batch_normalization/gamma:0", "batch_normalization/beta:0",
                         "out/kernel:0", "out/bias:0"]  # fmt: skip
        sess.run(tf1.global_variables_initializer())
        data = np.arange(64.0).reshape(2, 4, 4, 2)
        sess.run([out, updates], {x: data, training: True})
        windows = [data[n, i : i + 2, j : j + 2].sum() for n in range(2) for i in range(3) for j in range(3)]
        mean, variance = sess.run(["batch_normalization/moving_mean:0", "batch_normalization/moving_variance:0"])
        np.testing.assert_allclose(mean, np.full(3, 0.5 * np.mean(windows)), rtol=1e-5)
        np.testing.assert_allclose(variance, np.full(3, 0.5 + 0.5 * np.var(windows, ddof=1)), rtol=1e-4)
        assert sess.run(out, {x: data, training: False}).shape == (2, 1)


def test_recurrent_cells_over_sequences():
    with tf.Graph().as_default(), tf1.Session() as sess:
        x = np.sin(np.arange(12.0)).reshape(2, 3, 2).astype(np.float32)
        cell = tf1.nn.rnn_cell.BasicRNNCell(3)
        outputs, state = tf1.nn.dynamic_rnn(cell, x, sequence_length=[3, 2], dtype=tf.float32)
        assert [v.name for v in cell.variables] == ["rnn/basic_rnn_cell/kernel:0", "rnn/basic_rnn_cell/bias:0"]
        sess.run(tf1.global_variables_initializer())
        found, last, (kernel, bias) = sess.run([outputs, state, cell.variables])
        h = np.zeros((2, 3), np.float32)
        for t in range(3):
            new = np.tanh(np.concatenate([x[:, t], h], 1) @ kernel + bias)
            live = (np.array([3, 2]) > t)[:, None]
            h = np.where(live, new, h)
            np.testing.assert_allclose(found[:, t], np.where(live, new, 0), rtol=1e-5)
        np.testing.assert_allclose(last, h, rtol=1e-5)
        (gradient,) = tf1.gradients(tf.reduce_sum(outputs), [cell.variables[0]])
        assert np.isfinite(sess.run(gradient)).all()


def test_what_is_not_there_says_what_to_do():
    with tf.Graph().as_default(), tf1.Session() as sess:
        with pytest.raises(NotImplementedError, match="fetch what you need in one run"):
            sess.partial_run_setup([])
        with pytest.raises(NotImplementedError, match="tf.train.Saver"):
            tf1.train.import_meta_graph("model.meta")
        with pytest.raises(NotImplementedError, match="leave `partitioner` out"):
            tf1.variable_scope("a", partitioner=lambda shape, dtype: [1])


def test_the_ragged_value_of_a_session_is_the_one_of_the_module():
    from tandem.graph_mode.values import ragged_value
    from tandem.inside.ops.ragged.ragged_tensor_value import RaggedTensorValue

    value = ragged_value(np.array([1, 2, 3]), np.array([0, 2, 3]))
    assert isinstance(value, RaggedTensorValue) and value.to_list() == [[1, 2], [3]]
