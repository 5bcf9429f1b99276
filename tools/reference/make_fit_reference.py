#!/usr/bin/env python3
"""Writes tests/python/data/fit.json: what Keras on TensorFlow gives for the trainings of
tests/python/fit_cases.py.

Needs TensorFlow and Keras in the Python that runs it (tools/bench-env makes such an environment); the tests
only read the file.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

TESTS = pathlib.Path(__file__).parents[2] / "tests/python"
sys.path.insert(0, str(TESTS))

from fit_cases import CASES


def plain(value):
    """Numbers as JSON has them, with as many digits as float32 tells apart."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{float(value):.8g}")
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return int(value) if isinstance(value, np.integer) else value


answers = {}
for name, case in CASES.items():
    keras.utils.set_random_seed(0)
    answers[name] = plain(case(keras, tf))
(TESTS / "data/fit.json").write_text(json.dumps(answers) + "\n")
