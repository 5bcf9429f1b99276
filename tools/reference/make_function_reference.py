#!/usr/bin/env python3
"""Writes tests/python/data/functions.json: what TensorFlow answers to the programs of tests/python/function_cases.py.

Needs TensorFlow in the Python that runs it (tools/bench-env makes such an environment); the tests only read the file.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf

TESTS = pathlib.Path(__file__).parents[2] / "tests/python"
sys.path.insert(0, str(TESTS))

from function_answers import plain
from function_cases import CASES

answers = {name: plain(program(tf)) for name, program in CASES.items()}
lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
(TESTS / "data/functions.json").write_text("{\n" + lines + "\n}\n")
