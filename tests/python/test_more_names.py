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
