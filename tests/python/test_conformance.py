"""What examples in TensorFlow's documentation rest on: graphs, derivatives of traced values, values per replica,
crossed features, NumPy's scalars beside tensors, printed forms of composite values."""

import numpy as np
import pytest

import tandem as tf


# ---- tf.gradients


def test_gradients_of_traced_values():
    @tf.function
    def derivatives(x):
        square = x * x
        return tf.gradients(square * 3.0 + x, [x, square])

    by_x, by_square = derivatives(tf.constant(5.0))
    assert float(by_x) == 31.0 and float(by_square) == 3.0


def test_gradients_stop_where_they_are_told():
    @tf.function
    def derivatives(x):
        square = x * x
        return tf.gradients(square * 3.0 + x, [x, square], stop_gradients=[square])

    by_x, by_square = derivatives(tf.constant(5.0))
    assert float(by_x) == 1.0 and float(by_square) == 3.0


def test_gradients_by_what_a_stop_gives():
    @tf.function
    def derivatives(x):
        held = tf.stop_gradient(x * x)
        return tf.gradients(held * 3.0, [held, x], unconnected_gradients="zero")

    by_held, by_x = derivatives(tf.constant(5.0))
    assert float(by_held) == 3.0 and float(by_x) == 0.0


def test_gradients_by_variables_with_given_ones():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def derivatives():
        return tf.gradients([v * v], [v], grad_ys=[tf.constant([10.0, 100.0])])

    np.testing.assert_array_equal(derivatives()[0], [20.0, 400.0])


def test_gradients_need_a_trace():
    x = tf.constant(1.0)
    with pytest.raises(RuntimeError, match="Use tf.GradientTape instead"):
        tf.gradients(x, [x])


def test_hessians():
    @tf.function
    def second(x):
        return tf.hessians(tf.reduce_sum(x[0] * x[1] * x[1]), x)[0]

    np.testing.assert_array_equal(second(tf.constant([3.0, 5.0])), [[0.0, 10.0], [10.0, 6.0]])


# ---- Graphs


def test_graph_as_default():
    with tf.Graph().as_default() as graph:
        made = tf.constant(2.0) * 3.0
        assert made.graph is graph and not tf.executing_eagerly()
    assert tf.executing_eagerly()


def test_a_result_that_cannot_leave_a_trace():
    with pytest.raises(TypeError, match="cannot leave the trace"):
        tf.function(lambda data: data)(tf.data.Dataset.range(2))


# ---- Values per replica


@pytest.fixture(scope="module")
def strategy():
    # The second CPU is not there: as in TensorFlow its number means the first one.
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def test_a_variable_that_a_function_returns_is_read(strategy):
    with strategy.scope():
        v = tf.Variable(2.0, aggregation=tf.VariableAggregation.MEAN)

    @tf.function
    def update():
        return v.assign_add(3.0)

    assert [float(part) for part in strategy.experimental_local_results(strategy.run(update))] == [5.0, 5.0]


def test_local_results_of_a_structure(strategy):
    def replica():
        context = tf.distribute.get_replica_context()
        return context.all_reduce("SUM", [tf.identity(1.5), tf.identity(4.0)])

    parts = strategy.experimental_local_results(strategy.run(replica))
    assert [[float(t) for t in part] for part in parts] == [[3.0, 8.0], [3.0, 8.0]]


def test_element_spec_says_what_a_replica_gets(strategy):
    data = tf.data.Dataset.range(12)
    cut = strategy.experimental_distribute_dataset(data.batch(4, drop_remainder=True))
    part = "TensorSpec(shape=(2,), dtype=tf.int64, name=None)"
    assert repr(iter(cut).element_spec) == f"PerReplicaSpec({part}, {part})"
    part = "TensorSpec(shape=(None,), dtype=tf.int64, name=None)"
    assert repr(strategy.experimental_distribute_dataset(data.batch(4)).element_spec) == f"PerReplicaSpec({part}, {part})"


# ---- Crossed features


def test_cross_hashed_counts_as_tensorflow():
    words, numbers = tf.constant([["a", "c"], ["b", "d"]]), tf.constant([[1], [2]], tf.int64)
    crossed = tf.sparse.cross_hashed([words, numbers])
    expected = [2928842892298887678, 6959381121209054446, 85918459618309357, 4378917100114174116]
    assert crossed.values.numpy().tolist() == expected
    assert crossed.indices.numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    keyed = tf.sparse.cross_hashed([tf.constant([[1, 3], [5, 6]], tf.int64), numbers], 100, hash_key=7)
    assert keyed.values.numpy().tolist() == [4, 63, 14, 94]


def test_cross_of_rows_of_different_length():
    rows = tf.sparse.SparseTensor([[0, 0], [0, 1], [2, 0]], ["x", "y", "z"], [3, 2])
    crossed = tf.sparse.cross([rows, tf.constant([[1, 2], [3, 4], [5, 6]])], separator="-")
    assert crossed.values.numpy().tolist() == [b"x-1", b"x-2", b"y-1", b"y-2", b"z-5", b"z-6"]
    assert crossed.indices.numpy().tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [2, 0], [2, 1]]
    assert crossed.dense_shape.numpy().tolist() == [3, 4]


# ---- Operands


@pytest.mark.parametrize("scalar", [np.float32(1.5), np.float64(1.5), np.float16(1.5)])
def test_numpy_scalars_are_cast_as_arrays_are(scalar):
    whole = tf.constant([5, 7])
    np.testing.assert_array_equal(whole + scalar, [6, 8])
    np.testing.assert_array_equal(scalar + whole, [6, 8])
    np.testing.assert_array_equal(tf.maximum(whole, np.float64(6.5)), [6, 7])
    with pytest.raises(TypeError, match="Cannot convert"):
        whole * 1.5


@pytest.mark.parametrize("operand", [None, object(), {1: 2}])
def test_operands_that_are_no_numbers(operand):
    for run in (lambda: tf.constant(1) + operand, lambda: operand * tf.constant(1), lambda: tf.constant(1) < operand):
        with pytest.raises(ValueError, match="with an unsupported type"):
            run()


def test_operands_that_know_the_operator():
    class Knows:
        def __radd__(self, other):
            return "mine"

    assert tf.constant(1) + Knows() == "mine"


def test_attributes_of_arrays_come_with_advice():
    with pytest.raises(AttributeError, match="experimental_enable_numpy_behavior"):
        tf.constant([1.0]).reshape
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        tf.constant([1.0]).nosuch


# ---- Rows of different size


def test_map_over_ragged_rows():
    rows = tf.ragged.constant([[4, 5], [], [7]])
    assert tf.map_fn(tf.reduce_sum, rows, fn_output_signature=tf.int32).numpy().tolist() == [9, 0, 7]
    assert tf.map_fn(lambda row: row * 2, rows).to_list() == [[8, 10], [], [14]]
    total = tf.function(lambda r: tf.map_fn(tf.reduce_max, r, fn_output_signature=tf.int32))
    assert total(tf.ragged.constant([[4, 5], [7]])).numpy().tolist() == [5, 7]


def test_map_gives_ragged_rows():
    made = tf.map_fn(tf.range, tf.constant([2, 0, 3]), fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))
    assert made.to_list() == [[0, 1], [], [0, 1, 2]]


def test_map_over_and_to_sparse_rows():
    rows = tf.sparse.SparseTensor([[0, 1], [2, 0], [2, 2]], [5, 6, 7], [3, 3])
    assert tf.map_fn(tf.sparse.reduce_sum, rows, fn_output_signature=tf.int32).numpy().tolist() == [5, 0, 13]
    made = tf.map_fn(tf.sparse.eye, tf.constant([1, 2]), fn_output_signature=tf.SparseTensorSpec(None, tf.float32))
    assert tf.sparse.to_dense(made).numpy().tolist() == [[[1, 0], [0, 0]], [[1, 0], [0, 1]]]


def test_ragged_operands_must_fit():
    rows = tf.ragged.constant([[1.0, 2.0], [3.0, 4.0]])
    assert (rows + tf.constant([10.0, 20.0])).to_list() == [[11.0, 22.0], [13.0, 24.0]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.ragged.constant([[1.0], [2.0]]) + tf.constant([1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.ragged.constant([[1], [2, 3]]) + tf.ragged.constant([[1, 2], [3]])
