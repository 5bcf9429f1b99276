#!/usr/bin/env python3
"""Stores TensorFlow's answers to the expressions of tests/python/stored_cases, in tests/python/data/stored.

Usage: make_stored_reference.py [FILE ...]    (a Python that has tensorflow 2.21; without names all files)
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests/python"
sys.path.insert(0, str(TESTS))

from stored_cases import cases, evaluate

(TESTS / "data/stored").mkdir(exist_ok=True)
for file, lines in cases().items():
    if sys.argv[1:] and file not in sys.argv[1:]:
        continue
    answers = {line: evaluate(line, tf) for line in lines}
    text = "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v[:2])}" for k, v in answers.items()) + "\n}\n"
    (TESTS / f"data/stored/{file}.json").write_text(text)
    for line, answer in answers.items():
        if answer[0] == "error":
            print(f"{file}: {line}\n    {answer[1]}: {answer[2][:150]}")
    print(f"{file}: {len(answers)} answers")
