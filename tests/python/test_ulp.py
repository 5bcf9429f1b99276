"""Elementwise functions are at most twice as far from the true values as TensorFlow's."""

import json

import pytest

import tandem as tf
from conftest import has_real_gpu
from ulp_cases import FACTS, beyond, measure, names


def test_facts_are_up_to_date():
    assert list(json.loads(FACTS.read_text())) == names()


@pytest.mark.parametrize("name", names())
def test_error(name):
    with tf.device("CPU:0"):
        assert not beyond(name, measure(tf, name, quick=True))


@pytest.mark.parametrize("name", names())
def test_error_on_a_gpu(name):
    if not has_real_gpu():
        pytest.skip("emulated GPUs compute with the CPU's functions")
    with tf.device("GPU:0"):
        assert not beyond(name, measure(tf, name, quick=True), gpu=True)
