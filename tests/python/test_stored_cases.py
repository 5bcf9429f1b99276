"""Public names as TensorFlow's, by its stored answers (stored_cases/)."""

import json
import pathlib

import numpy as np
import pytest

import tandem as tf
from stored_cases import cases, evaluate

DATA = pathlib.Path(__file__).parent / "data/stored"
CASES = [(file, line) for file, lines in cases().items() for line in lines]
ANSWERS = {path.stem: json.loads(path.read_text()) for path in DATA.glob("*.json")}


def test_reference_is_up_to_date():
    assert {file: list(answers) for file, answers in ANSWERS.items()} == cases()


@pytest.mark.parametrize("file,line", CASES, ids=[f"{file}:{line}" for file, line in CASES])
def test_as_tensorflow(file, line):
    expected = ANSWERS[file][line]
    got = evaluate(line, tf)
    assert got[0] == expected[0], got
    if expected[0] == "error":
        assert got[1] == expected[1], got
        return
    assert [_form(part) for part in got[1]] == [_form(part) for part in expected[1]]
    for part, answer in zip(got[1], expected[1]):
        if part[0] == "array" and ("float" in part[1] or "complex" in part[1]):
            loose = 1e-2 if part[1] in ("float16", "bfloat16") else 2e-4 if part[1] in ("float32", "complex64") else 1e-6
            np.testing.assert_allclose(np.float64(part[3]), np.float64(answer[3]), rtol=loose, atol=loose)
        elif isinstance(answer[-1], float):
            assert part[-1] == pytest.approx(answer[-1], rel=1e-5)
        else:
            assert part == answer


def _form(part):
    return part[:3] if part[0] == "array" else part[0]
