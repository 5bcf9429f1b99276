"""tf.experimental.dispatch_for_*: a user's functions in place of TensorFlow's."""

from typing import List, Union

import pytest
import tandem as tf


class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor


def masked(x):
    return x if isinstance(x, Masked) else Masked(x, tf.ones_like(x, tf.bool))


@pytest.fixture
def registered():
    """Handlers that are forgotten after the test."""
    handlers = []

    def register(decorator, handler):
        handlers.append(decorator(handler))
        return handler

    yield register
    for handler in handlers:
        tf.experimental.unregister_dispatch_for(handler)


def test_api(registered):
    def stack(values: List[Masked], axis=0):
        return Masked(tf.stack([v.values for v in values], axis), tf.stack([v.mask for v in values], axis))

    x, y = Masked([1, 2], [True, False]), Masked([3, 4], [False, True])
    with pytest.raises((TypeError, ValueError)):
        tf.stack([x, y])
    registered(tf.experimental.dispatch_for_api(tf.stack), stack)
    assert tf.stack([x, y]).values.numpy().tolist() == [[1, 2], [3, 4]]
    assert tf.stack([x, y], axis=1).values.numpy().tolist() == [[1, 3], [2, 4]]
    assert tf.stack([[1, 2], [3, 4]]).numpy().tolist() == [[1, 2], [3, 4]]


def test_unregistering_brings_the_function_back():
    def concat(values: List[Masked], axis, name="concat"):
        return "mine"

    before = tf.concat.__code__
    tf.experimental.dispatch_for_api(tf.concat)(concat)
    assert tf.concat([Masked([1], [True])], 0) == "mine"
    tf.experimental.unregister_dispatch_for(concat)
    assert tf.concat.__code__ is before
    assert tf.concat([[1], [2]], 0).numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="was not registered"):
        tf.experimental.unregister_dispatch_for(concat)


def test_mixed_lists_and_explicit_signatures(registered):
    def stack(values, axis=0):
        values = [masked(v) for v in values]
        return Masked(tf.stack([v.values for v in values], axis), tf.stack([v.mask for v in values], axis))

    registered(tf.experimental.dispatch_for_api(tf.stack, {"values": List[Union[Masked, tf.Tensor]]}), stack)
    result = tf.stack([Masked([1, 2], [True, False]), tf.constant([3, 4])])
    assert result.mask.numpy().tolist() == [[True, False], [True, True]]
    assert isinstance(tf.stack([tf.constant([1]), tf.constant([2])]), tf.Tensor)


def test_unary(registered):
    def unary(api, x):
        return Masked(api(x.values), x.mask)

    registered(tf.experimental.dispatch_for_unary_elementwise_apis(Masked), unary)
    x = Masked([1, -2], [True, False])
    assert tf.abs(x).values.numpy().tolist() == [1, 2] and tf.math.abs(x).mask.numpy().tolist() == [True, False]
    assert tf.ones_like(x, dtype=tf.float32).values.dtype == tf.float32
    assert tf.cast(x, tf.float64).values.dtype == tf.float64
    assert tf.abs(-3).numpy() == 3


def test_binary_and_operators(registered):
    def binary(api, x, y):
        x, y = masked(x), masked(y)
        return Masked(api(x.values, y.values), x.mask & y.mask)

    either = Union[Masked, tf.Tensor]
    registered(tf.experimental.dispatch_for_binary_elementwise_apis(either, either), binary)
    x, y = Masked([1, -2], [True, False]), Masked([[4], [5]], [[True], [False]])
    assert tf.math.add(x, y).values.numpy().tolist() == [[5, 2], [6, 3]]
    assert (tf.constant([1, 1]) + x).values.numpy().tolist() == [2, -1]
    assert (x * tf.constant(3)).values.numpy().tolist() == [3, -6]
    assert tf.maximum(x, tf.constant(0)).values.numpy().tolist() == [1, 0]
    assert tf.add(1, 2).numpy() == 3

    @tf.function
    def compiled(a, b):
        return tf.math.subtract(a, b)

    assert compiled(x, x).values.numpy().tolist() == [0, 0]


def test_assertions(registered):
    def check(api, x, y):
        return api(x.values, y.values)

    registered(tf.experimental.dispatch_for_binary_elementwise_assert_apis(Masked, Masked), check)
    tf.debugging.assert_equal(Masked([1], [True]), Masked([1], [False]))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.debugging.assert_equal(Masked([1], [True]), Masked([2], [True]))


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="does not match API's signature"):
        tf.experimental.dispatch_for_api(tf.stack)(lambda vals, axis: None)
    with pytest.raises(ValueError, match="which type it is for"):
        tf.experimental.dispatch_for_api(tf.stack)(lambda values, axis=0: None)
    with pytest.raises(ValueError, match="does not support dispatch"):
        tf.experimental.dispatch_for_api(print)
    with pytest.raises(TypeError, match="dispatch_for_api"):
        tf.constant([1]) + Masked([1], [True])
