#!/usr/bin/env python3
"""Training steps on a GPU beside PyTorch and JAX: what `make bench-gpu` runs.

The cases, weights and checks are those of bench/step; every worker computes on the first GPU with
TF32 products. PyTorch takes part eagerly, as a captured CUDA graph and compiled; the fastest form of
a peer counts. How rounds, ratios and verdicts work is in common/driver.py.
"""

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "step")]
import run as step
from common.driver import (
    ROOT,
    Worker,
    environment,
    make_parser,
    measure,
    parse_arguments,
    print_start,
    print_wanted,
    select_cases,
    show_progress,
    verdict,
    write_report,
)

# Microseconds of a step that are wanted on an H200, whatever the peers do.
WANTED_US = {"mlp_100_64_b32": 20, "mlp_784_128_b32": 28, "cnn_b64": 80}
SCRIPTS = {"torch": ("gpu/torch_gpu.py", {}), "jax": ("step/jax_step.py", {"JAX_PLATFORMS": "cuda"})}


def start_workers(arguments):
    python = environment(arguments) / "bin/python" if arguments.peers else None
    threads = ["--threads", str(arguments.threads)]
    tandem = [arguments.tandem, *threads]
    workers = [Worker("tandem", tandem)]
    for name in arguments.peers:
        if name not in SCRIPTS:
            sys.exit(f"bench-gpu: no peer named {name}; there are: {', '.join(SCRIPTS)}")
        script, settings = SCRIPTS[name]
        workers.append(Worker(name, [python, ROOT / "bench" / script, *threads], settings))
    return workers + [Worker("tandem again", tandem)]


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
    return lines


def main():
    arguments = parse_arguments(make_parser(__doc__, ",".join(SCRIPTS), "bench_step", "gpu.json"))
    cases = select_cases("bench-gpu", step.CASES, arguments.cases)
    workers = start_workers(arguments)
    load = print_start(workers, arguments.rounds)
    rows, problems = [], []
    try:
        for case in cases:
            runs, failed = measure(case, workers, arguments.rounds, 60 if arguments.quick else 300)
            problems += failed
            if {"tandem", "tandem again"} <= {name for name, _ in runs}:
                rows.append(step.evaluate(case, runs))
            show_progress(len(rows), len(cases), case)
    finally:
        for worker in workers:
            worker.close()
    step.print_steps(rows)
    verdicts = print_wanted(wanted_lines(rows))
    problems += [f"{r['case']}: losses differ" for r in rows if r["differ"]]
    return write_report("bench-gpu", arguments, workers, load, rows, verdicts, problems)


if __name__ == "__main__":
    sys.exit(main())
