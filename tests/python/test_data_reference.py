"""Elements, specs, cardinality and errors of datasets as TensorFlow's, by its stored answers
(tools/reference/make_dataset_reference.py)."""

import json
import pathlib

import numpy as np
import pytest

import tandem as tf
from dataset_cases import cases, helpers, shown

ANSWERS = json.loads((pathlib.Path(__file__).parent / "data/datasets.json").read_text())


# TensorFlow's words are about its own inside; the class is still compared.
OTHER_WORDS = {
    "D.list_files('/nonexistent/*')",
    "D.range(1, 3).map(lambda x: tf.fill([x], x)).batch(2)",
    "D.from_generator(lambda: iter([1, 'a']), tf.int32)",
}


def test_reference_is_up_to_date():
    assert [answer[0] for answer in ANSWERS] == cases()


@pytest.mark.parametrize("answer", ANSWERS, ids=[a[0] for a in ANSWERS])
def test_as_tensorflow(answer):
    expression, kind, *expected = answer
    tf.random.set_seed(0)
    try:
        got = ["value", shown(eval(expression, {"tf": tf, "np": np, **helpers(tf)}))]
    except Exception as error:
        if kind == "value":
            raise
        assert type(error).__name__ == expected[0], f"{type(error).__name__}: {error}"
        if expression not in OTHER_WORDS:
            assert expected[1].rpartition(": ")[2] in str(error)
        return
    assert got == [kind, *expected]
