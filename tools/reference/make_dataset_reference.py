#!/usr/bin/env python3
"""Writes tests/python/data/datasets.json: what TensorFlow answers to the expressions of tests/python/dataset_cases.py.

Needs TensorFlow in the Python that runs it (tools/bench-env makes such an environment); the tests only read
the file. A case is [expression, "value", answer] or [expression, "error", class, first line of the message].
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

from dataset_cases import cases, helpers, shown


def plain(message):
    """The first line of a message without what only TensorFlow's executor adds."""
    line = re.sub(r"\{\{function_node [^}]*\}\} ", "", message).split("\n")[0]
    return re.sub(r"\s*\[Op:\w+\](\s+name:.*)?$", "", line).strip()


def ask(expression):
    tf.random.set_seed(0)
    try:
        return [expression, "value", shown(eval(expression, {"tf": tf, "np": np, **helpers(tf)}))]
    except Exception as error:  # noqa: BLE001
        return [expression, "error", type(error).__name__, plain(str(error))]


answers = [ask(expression) for expression in cases()]
(TESTS / "data/datasets.json").write_text(json.dumps(answers, indent=1) + "\n")
