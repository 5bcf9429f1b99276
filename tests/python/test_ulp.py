"""Elementwise functions are at most twice as far from the true values as TensorFlow's."""

import json
import pathlib

import pytest

import tandem as tf
from ulp_cases import measure, names

FACTS = json.loads((pathlib.Path(__file__).parent / "data/ulp.json").read_text())
LEAST = 1.0  # ulp; a function that rounds correctly twice has no more


def test_facts_are_up_to_date():
    assert list(FACTS) == names()


@pytest.mark.parametrize("name", names())
def test_error(name):
    for dtype, ranges in measure(tf, name, quick=True).items():
        for kind, error in ranges.items():
            facts = FACTS[name].get(dtype)  # none: TensorFlow does not have this dtype
            most = max(2 * float(facts[kind]), LEAST) if facts else LEAST
            assert error <= most, f"{name} of {dtype}, {kind}: {error:.3g} ulp, TensorFlow has {facts and facts[kind]}"
