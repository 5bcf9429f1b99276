#!/usr/bin/env python3
"""Writes tests/python/data/semantics.json: what TensorFlow's Python interface answers to the expressions of
tests/python/semantics_cases.py.

Needs TensorFlow in the Python that runs it (tools/bench-env makes such an environment); the tests only read
the file. A case is [expression, "value", repr] or [expression, "error", class, message].
"""

import json
import os
import pathlib
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

TESTS = pathlib.Path(__file__).parents[2] / "tests/python"
sys.path.insert(0, str(TESTS))

from semantics_cases import cases


def plain(message):
    """The message without what only TensorFlow's executor adds."""
    message = re.sub(r"^\{\{function_node [^}]*\}\} ", "", message)
    message = re.sub(r"\s*\[Op:\w+\](\s+name:.*)?$", "", message)
    return message.strip()


def ask(expression):
    try:
        return [expression, "value", repr(eval(expression, {"tf": tf, "np": np}))]
    except Exception as error:  # noqa: BLE001
        return [expression, "error", type(error).__name__, plain(str(error))]


answers = [ask(expression) for expression in cases()]
(TESTS / "data/semantics.json").write_text(json.dumps(answers, indent=1) + "\n")
