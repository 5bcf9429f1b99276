"""Names that are more than one op and belong to no other test: moving averages, conversions, transforms over any axes."""

import numpy as np
import pytest
import tandem as tf


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_transforms_over_any_axes(norm):
    random = np.random.default_rng(0)
    real = random.normal(size=[3, 4, 6])
    whole = real + 1j * random.normal(size=real.shape)
    signal, real, whole = tf.signal, tf.constant(real), tf.constant(whole)
    for axes in (None, [0, 2], [2, 0], [-2]):
        np.testing.assert_allclose(signal.fftnd(whole, axes=axes, norm=norm), np.fft.fftn(whole.numpy(), axes=axes, norm=norm))
        np.testing.assert_allclose(signal.ifftnd(whole, axes=axes, norm=norm), np.fft.ifftn(whole.numpy(), axes=axes, norm=norm))
        np.testing.assert_allclose(signal.rfftnd(real, axes=axes, norm=norm), np.fft.rfftn(real.numpy(), axes=axes, norm=norm))
        np.testing.assert_allclose(
            signal.irfftnd(whole, axes=axes, norm=norm), np.fft.irfftn(whole.numpy(), axes=axes, norm=norm), atol=1e-12
        )
    cut = signal.fftnd(whole, fft_length=[2, 8], axes=[0, 2], norm=norm)
    np.testing.assert_allclose(cut, np.fft.fftn(whole.numpy(), s=[2, 8], axes=[0, 2], norm=norm))
    with pytest.raises(ValueError, match="norm must be"):
        signal.fftnd(whole, norm="loud")


def test_moving_averages():
    v, w = tf.Variable(1.0), tf.Variable([2.0, 4.0])
    average = tf.train.ExponentialMovingAverage(decay=0.75)
    average.apply([v, w])
    v.assign(5.0)
    tf.function(lambda: average.apply([v]))()
    assert average.average(v).numpy() == 2.0 and average.average(w).numpy().tolist() == [2, 4]
    assert average.average(tf.Variable(1.0)) is None
    limited = tf.train.ExponentialMovingAverage(decay=0.9, num_updates=0, zero_debias=True)
    limited.apply([v])
    np.testing.assert_allclose(limited.average(v), 5.0, rtol=1e-6)


def test_conversion_functions():
    class Money:
        def __init__(self, amount):
            self.amount = amount

    def convert(value, dtype=None, name=None, as_ref=False):
        return NotImplemented if value.amount < 0 else tf.constant(value.amount, dtype)

    tf.register_tensor_conversion_function(Money, convert)
    assert (tf.constant(1.0) + Money(2.0)).numpy() == 3
    with pytest.raises(TypeError):
        tf.convert_to_tensor(Money(-1.0))
    tf.register_tensor_conversion_function(Money, lambda value, dtype=None, name=None, as_ref=False: tf.constant(0.0), 200)
    assert tf.convert_to_tensor(Money(-1.0)).numpy() == 0
    with pytest.raises(TypeError, match="Python numeric types"):
        tf.register_tensor_conversion_function(float, convert)


def test_sparse_parts_and_segments():
    sparse = tf.sparse.from_dense([[1, 0, 2, 0, 3], [0, 4, 0, 5, 0]])
    parts = tf.sparse.split(sp_input=sparse, num_split=2, axis=1)
    assert [tf.sparse.to_dense(p).numpy().tolist() for p in parts] == [[[1, 0, 2], [0, 4, 0]], [[0, 3], [5, 0]]]
    data = tf.constant([[1.0, 2], [3, 4], [5, 6]])
    assert tf.sparse.segment_sum(data, [0, 2, 1], [0, 0, 2]).numpy().tolist() == [[6, 8], [0, 0], [3, 4]]
    assert tf.sparse.segment_mean(data, [0, 2], [0, 0], num_segments=2).numpy().tolist() == [[3, 4], [0, 0]]
    np.testing.assert_allclose(tf.sparse.segment_sqrt_n(data, [0, 2], [0, 0]), [[6 / 2**0.5, 8 / 2**0.5]])


def test_merged_dimensions_and_shapes():
    ragged = tf.ragged.constant([[[1, 2], [3]], [[4, 5, 6]]])
    assert ragged.merge_dims(0, 1).to_list() == [[1, 2], [3], [4, 5, 6]]
    assert ragged.merge_dims(1, 2).to_list() == [[1, 2, 3], [4, 5, 6]]
    assert ragged.merge_dims(0, -1).numpy().tolist() == [1, 2, 3, 4, 5, 6]
    dense_inside = tf.RaggedTensor.from_row_lengths(tf.reshape(tf.range(12), [3, 2, 2]), [1, 2])
    assert dense_inside.merge_dims(2, 3).to_list() == [[[0, 1, 2, 3]], [[4, 5, 6, 7], [8, 9, 10, 11]]]
    assert dense_inside.merge_dims(1, 2).to_list()[0] == [[0, 1], [2, 3]]
    common = tf.TensorShape([2, 3]).most_specific_common_supertype([tf.TensorShape([2, 4]), tf.TensorShape([2, 3])])
    assert common.as_list() == [2, None]


def test_where_the_program_is():
    assert not tf.inside_function() and tf.get_current_name_scope() == ""
    seen = []

    @tf.function
    def function():
        with tf.name_scope("outer"), tf.name_scope("inner"):
            seen.append((tf.inside_function(), tf.get_current_name_scope()))
        return tf.constant(1)

    function()
    assert seen == [(True, "outer/inner")]


# ---- Sets


def sets_of(sparse):
    """The sets of a result by their place, and its dense shape."""
    sets = {}
    for at, value in zip(sparse.indices.numpy().tolist(), sparse.values.numpy().tolist()):
        assert at[-1] == len(sets.setdefault(tuple(at[:-1]), []))  # from the beginning, in order
        sets[tuple(at[:-1])].append(value)
    return sets, sparse.dense_shape.numpy().tolist()


@pytest.mark.parametrize("traced", [False, True])
def test_sets(traced):
    def staged(f):
        return tf.function(f) if traced else f

    # [[{1, 9}, {3}], [{4, 5}, {5, 6}]] and [[{1, 3, 9}, {}], [{4}, {5, 6, 7, 8}]], the latter with repetitions
    a = tf.constant([[[9, 1], [3, 3]], [[4, 5], [6, 5]]])
    b = tf.sparse.SparseTensor(
        [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 2], [1, 1, 3]],
        [3, 9, 1, 9, 4, 8, 5, 6, 7], [2, 2, 4])  # fmt: skip
    assert sets_of(staged(tf.sets.intersection)(a, b)) == ({(0, 0): [1, 9], (1, 0): [4], (1, 1): [5, 6]}, [2, 2, 2])
    assert sets_of(staged(tf.sets.intersection)(b, a)) == ({(0, 0): [1, 9], (1, 0): [4], (1, 1): [5, 6]}, [2, 2, 2])
    assert sets_of(staged(tf.sets.difference)(a, b)) == ({(0, 1): [3], (1, 0): [5]}, [2, 2, 1])
    minus = staged(lambda a, b: tf.sets.difference(a, b, aminusb=False))
    assert sets_of(minus(a, b)) == ({(0, 0): [3], (1, 1): [7, 8]}, [2, 2, 2])
    assert sets_of(staged(tf.sets.union)(a, b)) == (
        {(0, 0): [1, 3, 9], (0, 1): [3], (1, 0): [4, 5], (1, 1): [5, 6, 7, 8]}, [2, 2, 4])  # fmt: skip
    assert staged(tf.sets.size)(b).numpy().tolist() == [[3, 0], [1, 4]]
    assert tf.sets.size(b).dtype == tf.int32
    nothing = tf.zeros((2, 0), tf.int64)
    assert sets_of(staged(tf.sets.union)(nothing, nothing)) == ({}, [2, 0])
    assert sets_of(staged(tf.sets.difference)(tf.constant([[2], [1]], tf.int64), nothing)) == (
        {(0,): [2], (1,): [1]}, [2, 1])  # fmt: skip


def test_sets_that_do_not_fit():
    with pytest.raises(tf.errors.InvalidArgumentError, match="shapes"):
        tf.sets.union(tf.ones((2, 3), tf.int32), tf.ones((3, 3), tf.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid rank 1"):
        tf.sets.union(tf.constant([1]), tf.constant([1]))
    with pytest.raises(TypeError, match="Types don't match"):
        tf.sets.union(tf.ones((2, 3), tf.int32), tf.ones((2, 3), tf.int64))
    with pytest.raises(TypeError, match="float32"):
        tf.sets.intersection(tf.ones((2, 3)), tf.ones((2, 3)))
    with pytest.raises(TypeError, match="SparseTensor"):
        tf.sets.size(tf.ones((2, 3), tf.int32))


def test_functions_that_choose_how_to_run():
    assert tf.xla.experimental.compile(lambda x, y: x * y, [tf.constant(2.0), 3.0]).numpy() == 6
    with tf.xla.experimental.jit_scope(), tf.experimental.function_executor_type(None):
        assert tf.function(lambda: tf.constant(1))().numpy() == 1

    @tf.nondifferentiable_batch_function(1, 10, 100)
    def twice(x):
        return x * 2

    assert twice(tf.constant([1, 2])).numpy().tolist() == [2, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one dimension"):
        twice(tf.constant(1))

    class Pair(tf.experimental.ExtensionType):
        a: tf.Tensor
        b: int

    assert tf.experimental.extension_type.as_dict(Pair(tf.constant(1), 2))["b"] == 2


def test_seeds_that_differ_again():
    tf.random.set_seed(3)
    first = tf.random.uniform([4]).numpy().tolist()
    tf.random.set_seed(None)
    drawn = [tf.random.uniform([4]).numpy().tolist() for _ in range(2)]
    assert drawn[0] != drawn[1] and first not in drawn


def test_embedding_columns():
    columns, cache = tf.feature_column, tf.__internal__.feature_column.FeatureTransformationCache
    states = tf.__internal__.feature_column.StateManager(None, True)
    ids = columns.categorical_column_with_identity("a", 3)
    column = columns.embedding_column(ids, 2, initializer=lambda shape, dtype=None: tf.reshape(tf.range(6.0), shape))
    column.create_state(states)
    given = cache({"a": tf.constant([[0, 2], [1, -1]])})
    assert column.get_dense_tensor(given, states).numpy().tolist() == [[2, 3], [2, 3]]
    first, second = columns.shared_embeddings([ids, columns.categorical_column_with_identity("b", 3)], 2)
    given = cache({"a": tf.constant([[1]]), "b": tf.constant([[1]])})
    assert (first.get_dense_tensor(given, states) == second.get_dense_tensor(given, states)).numpy().all()
