#!/usr/bin/env python3
"""Stores the errors of elementwise functions in ulp, as tests/python/ulp_cases.py measures them.

Run with a Python that has TensorFlow and mpmath: writes TensorFlow's errors to tests/python/data/ulp.json. `--ours` with
the package `tandem` writes ours beside them, and from both the table of docs/precision.md. `--gpu` writes that
page's column of the GPU anew, from the report of `tools/gpu/check ulp` that tools/gpu/collect has kept.
"""

import importlib
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/precision.md"
GPU_CHECKS = ROOT / "docs/performance-data/gpu-checks.json"
sys.path.insert(0, str(ROOT / "tests/python"))
from ulp_cases import FACTS, measure, names, stored  # noqa: E402

COLUMNS = (("float32", "complex64"), ("float64", "complex128"), ("float16",), ("bfloat16",))
NOT_MEASURED = "not measured"


def figure(x):
    return f"{x:.2f}" if x < 10 else f"{x:.0f}" if x < 1e4 else f"{x:.0e}".replace("e+0", "e").replace("e+", "e")


def worst(errors, dtypes):
    """Of one column, without subnormal numbers; None: there is no such dtype."""
    ranges = next((errors[d] for d in dtypes if d in errors), None)
    known = ranges and [x for k, x in ranges.items() if k not in ("tiny", "subnormal results") and x is not None]
    return figure(max(known)) if known else None


def gpu_report():
    return json.loads(GPU_CHECKS.read_text()).get("ulp", {"measured": {}})


def gpu_cell(report, name):
    if name not in report["measured"]:
        return NOT_MEASURED
    return " / ".join(filter(None, (worst(report["measured"][name], dtypes) for dtypes in COLUMNS)))


def table():
    """The lines of the page's table, from the stored errors of both."""
    report, facts = gpu_report(), stored()
    lines = ["| function | float32 | float64 | float16 | bfloat16 | GPU |", f"| --- |{' ---: |' * 5}"]
    for name in names():
        theirs, ours = ({d: {k: pair[i] for k, pair in r.items()} for d, r in facts[name].items()} for i in (0, 1))
        pairs = [(worst(ours, dtypes), worst(theirs, dtypes)) for dtypes in COLUMNS]
        cells = [f"{mine} ({other or '–'})" if mine else "" for mine, other in pairs]
        lines.append(f"| {' | '.join([name, *cells, gpu_cell(report, name)])} |")
    return lines


def write_table():
    lines = PAGE.read_text().splitlines()
    rows = [i for i, line in enumerate(lines) if line.startswith("|")]
    lines[rows[0] : rows[-1] + 1] = table()
    PAGE.write_text("\n".join(lines) + "\n")


def short(error):
    return "inf" if error == float("inf") else float(f"{error:.3g}")


def keep(measured, place):
    """Writes errors into each pair of stored ones: TensorFlow's at place 0, ours at 1; null: not measured."""
    old, lines = stored() if FACTS.exists() else {}, []
    for name in names():
        before = {(d, k): list(pair) for d, r in old.get(name, {}).items() for k, pair in r.items()}
        now = {(d, k): x for d, r in measured[name].items() for k, x in r.items()}
        pairs = {}
        for key in [*now, *(key for key in before if key not in now)]:
            pair = before.get(key, [None, None])
            pair[place] = now.get(key)
            if pair != [None, None]:
                pairs.setdefault(key[0], {})[key[1]] = [x if x is None else short(x) for x in pair]
        lines.append(f"{json.dumps(name)}: {json.dumps(pairs)}")
    FACTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} functions in {FACTS.relative_to(ROOT)}")


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
    if "--gpu" in sys.argv:
        write_gpu_column()
        raise SystemExit
    place = 1 if "--ours" in sys.argv else 0
    tf = importlib.import_module("tandem" if place else "tensorflow")
    with tf.device("CPU:0"):
        keep({name: measure(tf, name, quick=False) for name in names()}, place)
    if place:
        write_table()
