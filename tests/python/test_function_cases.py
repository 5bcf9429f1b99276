"""Programs with functions give TensorFlow's stored answers (tools/reference/make_function_reference.py), compiled, run
eagerly, and on a GPU."""

import json
import pathlib

import numpy as np
import pytest

import tandem as tf
from function_answers import plain
from function_cases import CASES, EAGER

ANSWERS = json.loads((pathlib.Path(__file__).parent / "data/functions.json").read_text())


def same(got, expected, where):
    if isinstance(expected, list) and len(expected) == 3 and isinstance(expected[0], str) and isinstance(got, list):
        assert got[:2] == expected[:2], f"{where}: {got} is not {expected}"
        if expected[0].startswith("float"):
            np.testing.assert_allclose(got[2], expected[2], rtol=1e-5, atol=1e-6, err_msg=where)
        else:
            assert got[2] == expected[2], where
    elif isinstance(expected, list):
        assert isinstance(got, list) and len(got) == len(expected), f"{where}: {got} is not {expected}"
        for i, (a, b) in enumerate(zip(got, expected)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(expected, dict):
        assert set(got) == set(expected), where
        for key in expected:
            same(got[key], expected[key], f"{where}[{key}]")
    else:
        assert got == expected, f"{where}: {got} is not {expected}"


def values_only(answer):
    """Without dtypes: eager Python numbers stay Python numbers."""
    if isinstance(answer, list) and len(answer) == 3 and isinstance(answer[0], str) and isinstance(answer[1], list):
        return values_only(answer[2])
    if isinstance(answer, list):
        return [values_only(part) for part in answer]
    if isinstance(answer, dict):
        return {key: values_only(part) for key, part in answer.items()}
    return float(answer) if isinstance(answer, (bool, int, float)) else answer


def test_reference_is_up_to_date():
    assert list(ANSWERS) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_compiled(name):
    same(plain(CASES[name](tf)), ANSWERS[name], name)


@pytest.mark.parametrize("name", sorted(EAGER))
def test_eagerly(name):
    tf.config.run_functions_eagerly(True)
    try:
        got = plain(CASES[name](tf))
    finally:
        tf.config.run_functions_eagerly(False)
    _close(values_only(got), values_only(ANSWERS[name]), name)


def _close(got, expected, where):
    if isinstance(expected, list):
        assert isinstance(got, list) and len(got) == len(expected), where
        for i, (a, b) in enumerate(zip(got, expected)):
            _close(a, b, f"{where}[{i}]")
    elif isinstance(expected, dict):
        for key in expected:
            _close(got[key], expected[key], f"{where}[{key}]")
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-6), where
    else:
        assert got == expected, where


def test_on_a_gpu(run_python):
    tests = pathlib.Path(__file__).parent
    status, out, err = run_python(
        f"""
        import sys
        sys.path.insert(0, {str(tests)!r})
        import tandem as tf
        import test_function_cases as t
        for name, program in t.CASES.items():
            with tf.device("/GPU:0"):
                t.same(t.plain(program(tf)), t.ANSWERS[name], name)
        print("all", len(t.CASES))
        """,
        gpus=1,
    )
    assert status == 0, err
    assert out.split() == ["all", str(len(CASES))]
