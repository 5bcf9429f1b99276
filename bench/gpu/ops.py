#!/usr/bin/env python3
"""Single ops on a GPU in relation to what the GPU can do: what `make bench-gpu` runs second.

An op that moves memory is set in relation to the fastest copy that anybody made in this run (bytes read and
written over time), one that multiplies to the fastest matrix product in its dtype. PyTorch runs the same ops
beside it; their results are compared.
"""

import math
import os
import statistics
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))
from common.driver import (
    aa_spread,
    closing,
    duration,
    fastest_forms,
    make_parser,
    measure_cases,
    parse_arguments,
    print_start,
    print_table,
    print_wanted,
    ratio,
    select_cases,
    verdict,
    write_report,
)
from workers import add_arguments, start_workers

# Share of the copy's bandwidth wanted of these, of 256 MiB and of 64 MB.
WANTED_SHARE = 0.85
WANTED = ("add", "add_bf16", "exp", "fused_chain", "reduce_sum", "reduce_max", "reduce_sum_rows", "reduce_sum_columns")
SMALLER = "_64mb"  # ends their names
# The op whose rate is the ceiling of its kind.
CEILINGS = {
    "memory": "op_copy",
    "tf32": "op_matmul_tf32",
    "bfloat16": "op_matmul_bf16",
    "link": "op_copy_to_device_pinned",
}
TOLERANCE = 2e-2  # of the mean square of results: bfloat16, and sums in other orders


def evaluate(case, runs):
    best = fastest_forms(runs)
    mine = best["tandem"]
    ns = statistics.median(mine.total)
    bound = mine.answer["bound"]
    work = mine.answer["flops"] if bound in ("tf32", "bfloat16") else mine.answer["bytes"]
    row = {
        "case": case,
        "what": case.removeprefix("op_"),
        "bound": bound,
        "ns": ns,
        "work": work,
        "rate": work / ns,  # GB/s or GFLOP/s
        "spread": aa_spread(mine.total, best["tandem again"].total),
        "rounds": {name: s.total for name, s in best.items()},
        "differ": [],
    }
    if "torch" in best:
        row["torch"] = ratio(mine.total, best["torch"].total)
        row["torch_rate"] = work / statistics.median(best["torch"].total)
        ours, theirs = mine.answer["digest"], best["torch"].answer["digest"]
        if not math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=1e-12):
            row["differ"].append(f"the mean square of results is {ours}, PyTorch's is {theirs}")
    return row


def add_shares(rows):
    """Sets every rate in relation to the best rate of its ceiling's op, whoever reached it."""
    by_case = {r["case"]: r for r in rows}
    ceilings = {}
    for bound, case in CEILINGS.items():
        if case in by_case:
            ceilings[bound] = max(by_case[case]["rate"], by_case[case].get("torch_rate", 0))
    for r in rows:
        if r["bound"] in ceilings:
            r["share"] = r["rate"] / ceilings[r["bound"]]
            if "torch_rate" in r:
                r["torch_share"] = r["torch_rate"] / ceilings[r["bound"]]
    return ceilings


def rate(value, bound):
    return f"{value / 1e3:.1f} TFLOP/s" if bound in ("tf32", "bfloat16") else f"{value:.0f} GB/s"


def share(row, key):
    return f"{row[key]:.0%}" if key in row else "–"


def print_rows(rows, ceilings):
    print("\nSingle ops, and their share of what the machine can do\n")
    print_table(
        ["op", "bound by", "Tandem", "rate", "share", "PyTorch's share", "of PyTorch's time", "A/A spread"],
        [
            [r["what"], r["bound"], duration(r["ns"]), rate(r["rate"], r["bound"]), share(r, "share"), share(r, "torch_share")]
            + [f"{r['torch']:.2f}×" if "torch" in r else "–", f"{r['spread']:.0%}"]
            for r in rows
        ],
    )
    for bound, value in ceilings.items():
        print(f"  the most that was reached, {bound}: {rate(value, bound)}")


def wanted_lines(rows):
    lines = []
    for r in rows:
        if r["what"].removesuffix(SMALLER) in WANTED and "share" in r:
            text = verdict(r["share"], WANTED_SHARE, r["spread"])
            lines.append((f"at least {WANTED_SHARE} of the copy's bandwidth: {r['what']}", r["share"], text))
    return lines


def main():
    parser = make_parser(__doc__, "torch", "bench_gpu", "gpu-ops.json")
    add_arguments(parser)
    # The GPU's ops need none; copies from and to ordinary memory are done by several.
    parser.set_defaults(threads=min(8, os.cpu_count() or 1))
    arguments = parse_arguments(parser)
    os.environ["TANDEM_TORCH_FORMS"] = "eager"  # the process that has the ops
    workers = start_workers(arguments)
    cases = select_cases("bench-gpu", [c for c in workers[0].cases if c.startswith("op_")], arguments.cases)
    load = print_start(workers, arguments.rounds)
    with closing(workers):
        rows, problems = measure_cases(cases, workers, arguments.rounds, 20 if arguments.quick else 50, evaluate)
    ceilings = add_shares(rows)
    print_rows(rows, ceilings)
    verdicts = print_wanted(wanted_lines(rows))
    problems += [f"{r['case']}: {text}" for r in rows for text in r["differ"]]
    return write_report("bench-gpu", arguments, workers, load, rows, verdicts, problems, ceilings=ceilings)


if __name__ == "__main__":
    sys.exit(main())
