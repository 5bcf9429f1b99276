"""What users give by mistake: TensorFlow's exception class, a message that helps, and the process goes on."""

import numpy as np
import pytest

import tandem as tf


@pytest.fixture(scope="module")
def keras():
    return tf.keras


@pytest.mark.parametrize("use", ["watch", "gradient", "jacobian", "reset"])
def test_a_tape_that_was_not_entered(use):
    tape, x = tf.GradientTape(), tf.constant(1.0)
    arguments = {"watch": (x,), "reset": ()}.get(use, (x, x))
    with pytest.raises(RuntimeError, match="before its `with` block"):
        getattr(tape, use)(*arguments)


@pytest.mark.parametrize(
    ("raised", "wanted"),
    [
        (KeyError("k"), tf.errors.UnknownError),
        (ValueError("v"), tf.errors.InvalidArgumentError),
        (NotImplementedError("n"), tf.errors.UnimplementedError),
        (StopIteration(), tf.errors.OutOfRangeError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_errors_of_py_functions(raised, wanted, traced):
    def fail(x):
        raise raised

    def call(x):
        return tf.py_function(fail, [x], tf.int32)

    with pytest.raises(wanted, match=type(raised).__name__):
        (tf.function(call) if traced else call)(tf.constant(1))
    assert tf.py_function(lambda x: x + 1, [1], tf.int32).numpy() == 2


@pytest.mark.parametrize("convert", [int, float, complex], ids=lambda f: f.__name__)
def test_numbers_of_symbolic_tensors(convert):
    with pytest.raises(TypeError, match="no value while the function is traced"):
        tf.function(lambda x: convert(x), autograph=False)(tf.constant(1.0))
