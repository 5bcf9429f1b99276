"""Numbers of images, signals, matrices, generators and hashes as TensorFlow's, by its stored answers."""

import json
import pathlib

import numpy as np
import pytest

import tandem as tf
from numeric_cases import cases, evaluate

ANSWERS = json.loads((pathlib.Path(__file__).parent / "data/numeric.json").read_text())


def test_reference_is_up_to_date():
    assert list(ANSWERS) == cases()


@pytest.mark.parametrize("expression", list(ANSWERS))
def test_as_tensorflow(expression):
    got, expected = evaluate(expression, tf), ANSWERS[expression]
    assert len(got) == len(expected)
    for array, answer in zip(got, expected):
        assert array.dtype.name == answer["dtype"]
        assert list(array.shape) == answer["shape"]
        wanted = np.array(answer["values"])
        if array.dtype.kind == "c":
            array = np.stack([array.real, array.imag], -1)
        if array.dtype.kind in "fc":
            np.testing.assert_allclose(array.reshape(-1), wanted, rtol=1e-4, atol=1e-4)
        else:
            np.testing.assert_array_equal(array.reshape(-1), wanted.astype(array.dtype))
