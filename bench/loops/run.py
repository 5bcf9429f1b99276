#!/usr/bin/env python3
"""Loops of data-dependent length and their gradients, beside TensorFlow and JAX: what `make bench-loops` runs.

cases.py has the loops, the same on each library; a case whose results disagree gets no ratios. How rounds, ratios
and verdicts work is in common/driver.py.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.driver import (
    aa_spread,
    closing,
    compare_to_peers,
    different_answers,
    fastest_forms,
    make_parser,
    measure_cases,
    parse_arguments,
    print_beside_peers,
    print_start,
    python_workers,
    select_cases,
    write_report,
)

BODIES = ["elementwise", "recurrent", "indexed", "branching", "nested"]
CASES = (
    {name: name for name in BODIES}
    | {f"gradient_{name}": f"gradient of {name}" for name in BODIES}
    | {"second_elementwise": "second gradient of elementwise"}
    | {"gradient_rows": "gradient of the rows of indexed", "gradient_cell": "gradient of a recurrent cell"}
)
PEERS = {"tensorflow": "TensorFlow", "jax": "JAX"}
TOLERANCE = 1e-3  # of results, relative, and absolute below 1


def evaluate(case, runs):
    best = fastest_forms(runs)
    mine = best["tandem"]
    row = {
        "case": case,
        "what": CASES[case],
        "ns": statistics.median(mine.total),
        "rounds": {name: series.total for name, series in best.items()},
        "spread": aa_spread(mine.total, best["tandem again"].total),
        "differ": different_answers(runs, "values", TOLERANCE, TOLERANCE),
    }
    if not row["differ"]:
        compare_to_peers(row, mine, best, PEERS)
    return row


def main():
    parser = make_parser(__doc__, ",".join(PEERS), "", "loops.json", package=True)
    parser.add_argument("--turns", type=int, default=1000, help="of a loop (default 1000)")
    arguments = parse_arguments(parser)
    cases = select_cases("bench-loops", CASES, arguments.cases)
    script = [Path(__file__).with_name("worker.py"), "--turns", str(arguments.turns)]
    workers = python_workers("bench-loops", arguments, script, PEERS, {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"})
    load = print_start(workers, arguments.rounds)
    with closing(workers):
        rows, problems = measure_cases(cases, workers, arguments.rounds, 60 if arguments.quick else 300, evaluate)
    print_beside_peers(f"A loop of {arguments.turns} turns", rows, PEERS)
    problems += [f"{r['case']}: results differ" for r in rows if r["differ"]]
    return write_report("bench-loops", arguments, workers, load, rows, [], problems)


if __name__ == "__main__":
    sys.exit(main())
