#!/usr/bin/env python3
"""Writes tests/python/data/signatures.json: the parameters of TensorFlow's public functions, in order, with defaults.

Run with a Python that has TensorFlow. Only names and defaults are stored.
"""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import signatures  # noqa: E402
import tensorflow as tf  # noqa: E402

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "python", "data", "signatures.json")


def main():
    found = {}
    for name, value in signatures.public_callables(tf):
        described = signatures.described(value)
        if described is not None:
            found[name] = described
    with open(PLACE, "w", encoding="utf-8") as file:
        file.write("{\n")
        file.write(",\n".join(f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found)))
        file.write("\n}\n")
    print(f"{len(found)} signatures of TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
