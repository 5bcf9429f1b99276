#!/usr/bin/env python3
"""Stores TensorFlow's numbers for the expressions of tests/python/numeric_cases.py.

Run with a Python that has TensorFlow; rewrites tests/python/data/numeric.json.
"""

import json
import pathlib
import sys

import numpy as np
import tensorflow as tf

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))
from numeric_cases import cases, evaluate  # noqa: E402


def stored(array):
    flat = array.reshape(-1)
    if array.dtype.kind == "c":
        flat = np.stack([flat.real, flat.imag], -1).reshape(-1)
    values = [float(f"{v:.7g}") for v in flat.tolist()] if flat.dtype.kind == "f" else flat.tolist()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": values}


answers = {c: [stored(a) for a in evaluate(c, tf)] for c in cases()}
path = ROOT / "tests/python/data/numeric.json"
path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in answers.items()) + "\n}\n")
print(f"{len(answers)} answers in {path.relative_to(ROOT)}")
