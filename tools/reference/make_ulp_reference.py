#!/usr/bin/env python3
"""Stores the errors of TensorFlow's elementwise functions in ulp, as tests/python/ulp_cases.py measures them.

Run with a Python that has TensorFlow and mpmath; rewrites tests/python/data/ulp.json. `--table` prints instead the
table of docs/precision.md, with the errors of the package `tandem` beside the stored ones.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[2]
FACTS = ROOT / "tests/python/data/ulp.json"
sys.path.insert(0, str(ROOT / "tests/python"))
from ulp_cases import measure, names  # noqa: E402


def figure(x):
    return f"{x:.2f}" if x < 10 else f"{x:.0f}" if x < 1e4 else f"{x:.0e}".replace("e+0", "e").replace("e+", "e")


def table():
    import tandem as tf

    facts = json.loads(FACTS.read_text())
    print("| function | float32 | float64 | float16 | bfloat16 |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in names():
        ours, cells = measure(tf, name, quick=False), []
        for dtypes in (("float32", "complex64"), ("float64", "complex128"), ("float16",), ("bfloat16",)):
            dtype = next((d for d in dtypes if d in ours), None)
            if dtype is None:
                cells.append("")
                continue
            theirs = facts[name].get(dtype)
            kinds = [k for k in ours[dtype] if k not in ("tiny", "subnormal results")]
            worst = max(float(theirs[k]) for k in kinds) if theirs else None
            cells.append(f"{figure(max(ours[dtype][k] for k in kinds))} ({figure(worst) if theirs else '–'})")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if "--table" in sys.argv:
        table()
        raise SystemExit
    import tensorflow as tf

    facts = {name: measure(tf, name, quick=False) for name in names()}
    lines = []
    for name, dtypes in facts.items():
        stored = {d: {k: float(f"{x:.3g}") for k, x in kinds.items()} for d, kinds in dtypes.items()}
        lines.append(f"{json.dumps(name)}: {json.dumps(stored)}")
    FACTS.write_text("{\n" + ",\n".join(lines).replace("Infinity", '"inf"') + "\n}\n")
    print(f"{len(facts)} functions in {FACTS.relative_to(ROOT)}")
