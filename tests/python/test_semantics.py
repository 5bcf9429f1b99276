"""Values, dtypes and errors as TensorFlow's, by its stored answers (tools/reference/make_python_reference.py)."""

import json
import pathlib

import numpy as np
import pytest

import tandem as tf
from semantics_cases import cases

ANSWERS = json.loads((pathlib.Path(__file__).parent / "data/semantics.json").read_text())

# Tandem says it in other words, or TensorFlow's are about its own inside; the class is still compared.
OTHER_WORDS = {
    "tf.range(10)[-11]",  # TensorFlow prints the index after adding the size
    "tf.sqrt(4)",
    "tf.Variable([1., 2.]).assign([1.])",
    "tf.nosuch",
    "tf.math.nosuch",
    "tf.constant({'a': 1})",
    "tf.debugging.assert_rank(tf.zeros((2, 2)), 1)",
    "tf.debugging.assert_rank_in(tf.zeros([2]), (2, 3))",
    "tf.debugging.assert_shapes([(tf.zeros([2, 3]), ('N', 'Q')), (tf.zeros([2, 3]), ('Q', 'N'))])",
    "tf.io.gfile.listdir('/no/such/folder')",
}


def test_reference_is_up_to_date():
    assert [answer[0] for answer in ANSWERS] == cases()


@pytest.mark.parametrize("answer", ANSWERS, ids=[a[0] for a in ANSWERS])
def test_as_tensorflow(answer):
    expression, kind, *expected = answer
    try:
        got = ["value", repr(eval(expression, {"tf": tf, "np": np}))]
    except Exception as error:
        if kind == "value":
            raise
        assert type(error).__name__ == expected[0], f"{type(error).__name__}: {error}"
        if expression not in OTHER_WORDS:
            assert expected[1].split("\n")[0] in str(error)
        return
    assert got == [kind, *expected]
