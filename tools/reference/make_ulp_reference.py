#!/usr/bin/env python3
"""Stores the errors of TensorFlow's elementwise functions in ulp, as tests/python/ulp_cases.py measures them.

Run with a Python that has TensorFlow and mpmath; rewrites tests/python/data/ulp.json. `--table` prints instead the
table of docs/precision.md, with the errors of the package `tandem` beside the stored ones. `--gpu` writes that page's
column of the GPU anew, from the report of `tools/gpu/check ulp` that tools/gpu/collect has kept.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/precision.md"
GPU_CHECKS = ROOT / "docs/performance-data/gpu-checks.json"
sys.path.insert(0, str(ROOT / "tests/python"))
from ulp_cases import FACTS, measure, names  # noqa: E402

COLUMNS = (("float32", "complex64"), ("float64", "complex128"), ("float16",), ("bfloat16",))
NOT_MEASURED = "not measured"


def figure(x):
    return f"{x:.2f}" if x < 10 else f"{x:.0f}" if x < 1e4 else f"{x:.0e}".replace("e+0", "e").replace("e+", "e")


def worst(errors, dtypes):
    """Of one column, without subnormal numbers; None: there is no such dtype."""
    ranges = next((errors[d] for d in dtypes if d in errors), None)
    return ranges and figure(max(float(x) for k, x in ranges.items() if k not in ("tiny", "subnormal results")))


def gpu_report():
    return json.loads(GPU_CHECKS.read_text()).get("ulp", {"measured": {}})


def gpu_cell(report, name):
    if name not in report["measured"]:
        return NOT_MEASURED
    return " / ".join(filter(None, (worst(report["measured"][name], dtypes) for dtypes in COLUMNS)))


def table():
    import tandem as tf

    facts, report = json.loads(FACTS.read_text()), gpu_report()
    print("| function | float32 | float64 | float16 | bfloat16 | GPU |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in names():
        with tf.device("CPU:0"):
            ours = measure(tf, name, quick=False)
        pairs = [(worst(ours, dtypes), worst(facts[name], dtypes)) for dtypes in COLUMNS]
        cells = [f"{mine} ({theirs or '–'})" if mine else "" for mine, theirs in pairs]
        print(f"| {' | '.join([name, *cells, gpu_cell(report, name)])} |")


def write_gpu_column():
    report, lines = gpu_report(), PAGE.read_text().splitlines()
    where = f"{report['device']}, {report['date']}, `tools/gpu/check ulp`" if report["measured"] else NOT_MEASURED
    for i, line in enumerate(lines):
        cells = line.split(" | ")
        name = cells[0].removeprefix("| ")
        if line.startswith("GPU: "):
            lines[i] = f"GPU: {where}."
        elif name in names() and len(cells) == len(COLUMNS) + 2:
            lines[i] = " | ".join([*cells[:-1], f"{gpu_cell(report, name)} |"])
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if "--table" in sys.argv:
        table()
        raise SystemExit
    if "--gpu" in sys.argv:
        write_gpu_column()
        raise SystemExit
    import tensorflow as tf

    facts = {name: measure(tf, name, quick=False) for name in names()}
    lines = []
    for name, dtypes in facts.items():
        stored = {d: {k: float(f"{x:.3g}") for k, x in kinds.items()} for d, kinds in dtypes.items()}
        lines.append(f"{json.dumps(name)}: {json.dumps(stored)}")
    FACTS.write_text("{\n" + ",\n".join(lines).replace("Infinity", '"inf"') + "\n}\n")
    print(f"{len(facts)} functions in {FACTS.relative_to(ROOT)}")
