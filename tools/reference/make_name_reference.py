#!/usr/bin/env python3
"""Writes `__name__` of TensorFlow's functions and classes, of those that Tandem has too: run it with a Python that has
TensorFlow, with Tandem's build on the path (PYTHONPATH=build/dev/python)."""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def public_names():
    """From the generated index, which needs nothing else of Tandem."""
    text = (ROOT / "build/dev/python/tandem/_generated/names.py").read_text()
    scope = {}
    exec(text, scope)  # noqa: S102  (our own file)
    return sorted(scope["NAMES"])


def main():
    rows = {}
    for name in public_names():
        value = tf
        try:
            for part in name.split("."):
                value = getattr(value, part)
        except AttributeError:
            continue
        if name.split(".")[0] in ("compat", "__internal__", "keras") or not callable(value):
            continue
        if getattr(value, "__name__", None):
            rows[name] = value.__name__
    (ROOT / "tests/python/data/function_names.json").write_text(json.dumps(rows, indent=0, sort_keys=True) + "\n")


main()
