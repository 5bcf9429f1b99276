#!/usr/bin/env python3
"""Writes TensorFlow's names for the programs of tests/python/scope_programs.py: run it with a Python that has
TensorFlow."""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import scope_programs as programs  # noqa: E402
import tensorflow as tf  # noqa: E402

FORMS = {
    "eager": programs.run,
    "function": programs.run_in_function,
    "function in a scope": lambda tf, program: programs.run_in_function(tf, program, "outer"),
    "modules": programs.run_modules,
}


def answer(form, seed):
    try:
        return FORMS[form](tf, programs.make(seed))
    except Exception as error:  # noqa: BLE001  (TensorFlow's answer is an error)
        return {"error": type(error).__name__}


def main():
    rows = {form: [answer(form, seed) for seed in range(60)] for form in FORMS}
    with open(ROOT / "tests/python/data/scopes.json", "w") as out:
        out.write("{\n" + ",\n".join(f'"{form}": [\n' + ",\n".join(map(json.dumps, answers)) + "\n]"
                                     for form, answers in rows.items()) + "\n}\n")  # fmt: skip


main()
