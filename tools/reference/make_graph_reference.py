#!/usr/bin/env python3
"""Writes TensorFlow's answers for the programs of tests/python/graph_programs: run it with a Python that has
TensorFlow."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, "-m", "graph_programs", "tensorflow"], cwd=ROOT / "tests/python", env=environment, check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    answers = json.loads(done.stdout)
    failed = [f"{name}: {a['said']}\n{a['where']}" for name, a in answers.items() if isinstance(a, dict) and "error" in a]
    if failed:
        sys.exit("\n".join(failed))
    with open(ROOT / "tests/python/data/graphs.json", "w") as out:
        out.write("{\n" + ",\n".join(f'"{name}": {json.dumps(_short(answer))}' for name, answer in answers.items()) + "\n}\n")


def _short(value):
    if isinstance(value, list):
        return [_short(v) for v in value]
    if isinstance(value, dict):
        return {k: _short(v) for k, v in value.items()}
    return float(f"{value:.8g}") if isinstance(value, float) else value


main()
