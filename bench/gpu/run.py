#!/usr/bin/env python3
"""Training steps on a GPU beside PyTorch and JAX: what `make bench-gpu` runs first.

The small cases, weights and checks are those of bench/step; the large models are in models.cc. Every worker
computes on the first GPU, float32 products in TF32. PyTorch takes part eagerly, as a captured CUDA graph and
compiled; the fastest form of a peer counts. `--small --device cpu` checks the models where there is no GPU:
peers compute on the CPU, and Tandem on what it finds. How rounds, ratios and verdicts work is in
common/driver.py.
"""

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "step")]
import run as step
from common.driver import (
    closing,
    duration,
    make_parser,
    measure_cases,
    parse_arguments,
    print_differences,
    print_start,
    print_table,
    print_wanted,
    select_cases,
    verdict,
    write_report,
)
from workers import SCRIPTS, add_arguments, start_workers

LARGE = {
    "transformer_512_b8": "8-block transformer 512, 128 tokens, batch 8",
    "gpt2_b8_bf16": "GPT-2 124M, 1024 tokens, batch 8, bfloat16",
    "resnet50_b128_tf32": "ResNet-50 224×224×3, batch 128, TF32",
    "resnet50_b128_bf16": "ResNet-50 224×224×3, batch 128, bfloat16",
}
CASES = step.CASES | LARGE
# Microseconds of a step that are wanted on an H200, whatever the peers do.
WANTED_US = {"mlp_100_64_b32": 20, "mlp_784_128_b32": 28, "cnn_b64": 80}
# Microseconds that the caller of a captured step may wait until it is submitted behind another.
WANTED_SUBMIT_US = 8
# What one step works through, for rates.
ITEMS = {"gpt2_b8_bf16": (8 * 1024, "tokens"), "resnet50_b128_tf32": (128, "images"), "resnet50_b128_bf16": (128, "images")}
# Of losses, relative: bfloat16 has eight bits.
TOLERANCES = {"gpt2_b8_bf16": 1e-2, "resnet50_b128_bf16": 2e-2}


def evaluate(case, runs, small):
    what = CASES[case] + (" (small)" if small and case in LARGE else "")
    row = step.evaluate(case, what, runs, TOLERANCES.get(case, step.TOLERANCE))
    answer = runs["tandem", case].answer
    submit = answer["submit"]
    row |= {"submit_ns": submit["ns"], "submit_spread_ns": submit["spread_ns"], "submit_idle_ns": submit["idle_ns"]}
    row["copies"] = answer["copies"]
    if case in ITEMS and not small:
        count, unit = ITEMS[case]
        row |= {"rate": count / (row["ns"] / 1e9), "rate_unit": f"{unit}/s"}
    return row


def print_submits(rows):
    print("\nUntil a call of the step returns, the GPU busy with the one before\n")
    print_table(
        ["case", "submitted in", "spread", "to an idle GPU", "copies in a step", "rate"],
        [
            [
                r["what"],
                duration(r["submit_ns"]),
                duration(r["submit_spread_ns"]),
                duration(r["submit_idle_ns"]),
                str(r["copies"]),
                f"{r['rate']:,.0f} {r['rate_unit']}" if "rate" in r else "–",
            ]
            for r in rows
        ],
    )


def wanted_lines(rows):
    lines = []
    for r in rows:
        if r["case"] in WANTED_US:
            share = r["ns"] / 1e3 / WANTED_US[r["case"]]
            what = f"at most {WANTED_US[r['case']]} µs: {r['what']}"
            lines.append((what, share, verdict(share, 1.0, r["spread"], at_most=True)))
        if "best" in r:
            text = "holds" if r["best"] <= 1 + r["spread"] else "does not hold"
            lines.append((f"at most the best peer's time, within the A/A spread: {r['what']}", r["best"], text))
        share = r["submit_ns"] / 1e3 / WANTED_SUBMIT_US
        spread = r["submit_spread_ns"] / 1e3 / WANTED_SUBMIT_US
        lines.append((f"submitted in at most {WANTED_SUBMIT_US} µs: {r['what']}", share, verdict(share, 1.0, spread, at_most=True)))
    return lines


def main():
    parser = make_parser(__doc__, ",".join(SCRIPTS), "bench_gpu", "gpu.json")
    add_arguments(parser)
    parser.add_argument("--check", action="store_true", help="only compares losses; nothing is timed")
    arguments = parse_arguments(parser)
    budget_ms = 0 if arguments.check else 60 if arguments.quick else 300
    arguments.rounds = 1 if arguments.check else arguments.rounds
    cases = select_cases("bench-gpu", CASES, arguments.cases)
    workers = start_workers(arguments)
    load = print_start(workers, arguments.rounds)
    with closing(workers):
        rows, problems = measure_cases(
            cases, workers, arguments.rounds, budget_ms, lambda case, runs: evaluate(case, runs, arguments.small)
        )
    verdicts = []
    if arguments.check:
        for r in rows:
            print(f"{r['what']}: losses {r['losses']}, {'not ' if r['differ'] else ''}the same as {', '.join(arguments.peers)}")
        print_differences(rows)
    else:
        step.print_steps(rows)
        print_submits(rows)
        verdicts = print_wanted(wanted_lines(rows))
    problems += [f"{r['case']}: losses differ" for r in rows if r["differ"]]
    problems += [f"{r['case']}: losses do not fall: {r['losses']}" for r in rows if not r["losses"][-1] < r["losses"][0]]
    return write_report("bench-gpu", arguments, workers, load, rows, verdicts, problems)


if __name__ == "__main__":
    sys.exit(main())
