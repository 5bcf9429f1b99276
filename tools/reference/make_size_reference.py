#!/usr/bin/env python3
"""Writes tests/python/data/size_probes.json: what TensorFlow gives where sizes and limits are symbolic tensors.

Run with a Python that has TensorFlow. Kept are shapes and sums, or the class of the error.
"""

import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/python"))

import size_probes  # noqa: E402
import tensorflow as tf  # noqa: E402


def main():
    found = {p: size_probes.outcome(tf, source, given) for p, (source, given) in sorted(size_probes.probes().items())}
    lines = ",\n".join(f"{json.dumps(probe)}: {json.dumps(value)}" for probe, value in found.items())
    size_probes.REFERENCE.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    refused = sum(isinstance(v, str) for v in found.values())
    print(f"{len(found)} probes, of which TensorFlow {tf.__version__} refuses {refused}")


if __name__ == "__main__":
    main()
