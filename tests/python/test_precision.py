"""The switch between rounded and exact products of float32 (tf.config.experimental.enable_tensor_float_32_execution)."""

import numpy as np
import pytest
import tandem as tf


@pytest.fixture
def switch():
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    yield tf.config.experimental.enable_tensor_float_32_execution
    tf.config.experimental.enable_tensor_float_32_execution(before)


def test_it_reads_back(switch):
    for enabled in (False, True):
        switch(enabled)
        assert tf.config.experimental.tensor_float_32_execution_enabled() is enabled


def test_products_are_exact_when_it_is_off(switch):
    """A GPU that rounds is off by 1e-3 here; calls that are compiled already are made anew."""
    a = np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32)
    product = tf.function(lambda x: tf.matmul(x, x))
    x = tf.constant(a)
    product(x), tf.matmul(x, x)
    switch(False)
    expected = a.astype(np.float64) @ a
    np.testing.assert_allclose(product(x).numpy(), expected, atol=2e-4)
    np.testing.assert_allclose(tf.matmul(x, x).numpy(), expected, atol=2e-4)
