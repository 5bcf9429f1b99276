#!/usr/bin/env python3
"""`fit`, `evaluate`, `predict` and eager calls of Keras models beside TensorFlow, JAX and PyTorch: what
`make bench-fit` runs.

The same script (keras_fit.py) runs on each library. Before anything is timed, every worker trains a few
epochs from the same weights; a case whose losses disagree gets no ratios. How rounds, ratios and verdicts
work is in common/driver.py.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.driver import (
    ROOT,
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
    print_wanted,
    python_workers,
    select_cases,
    verdict,
    write_report,
)

MODELS = {
    "mlp_100_64": "MLP 100-64-10, batch 32",
    "mlp_784_128": "MLP 784-128-10, batch 32",
    "cnn": "CNN 28×28×3, conv 32, batch 64",
}
CASES = {
    f"{model}_{what}": f"{what}: {text}"
    for what in ("fit", "evaluate", "predict", "eager")
    for model, text in MODELS.items()
}
PEERS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
# Our time in units of theirs, at most: (case, peer or None for the best of them, limit).
WANTED = [
    ("mlp_100_64_fit", "tensorflow", 0.1),
    ("mlp_100_64_fit", None, 0.5),
    ("mlp_784_128_fit", None, 0.5),
    ("cnn_fit", None, 0.9),
]
# Microseconds of a step of fit, with the default progress bar, that are wanted on an H200.
WANTED_GPU_US = {"mlp_100_64_fit": 40, "mlp_784_128_fit": 50}
# Of losses, relative. On a GPU products are in TF32, which has ten bits, wherever a library likes.
TOLERANCE, GPU_TOLERANCE = 1e-3, 5e-3


def evaluate(case, runs, tolerance=TOLERANCE):
    best = fastest_forms(runs)
    mine = best["tandem"]
    row = {
        "case": case,
        "what": CASES[case],
        "ns": statistics.median(mine.total),
        "losses": mine.answer["losses"],
        "rounds": {name: series.total for name, series in best.items()},
        "spread": aa_spread(mine.total, best["tandem again"].total),
        "differ": different_answers(runs, "losses", tolerance),
    }
    if not row["differ"]:
        compare_to_peers(row, mine, best, PEERS)
    return row


def wanted_lines(rows, device):
    by_case = {r["case"]: r for r in rows}
    lines = []
    if device == "gpu":
        for case, limit in WANTED_GPU_US.items():
            if case in by_case:
                row = by_case[case]
                share = row["ns"] / 1e3 / limit
                text = verdict(share, 1.0, row["spread"], at_most=True)
                lines.append((f"at most {limit} µs: {row['what']}", share, text))
        return lines
    for case, peer, limit in WANTED:
        row = by_case.get(case, {})
        value = row.get(peer or "best")
        if value is not None:
            whose = PEERS[peer] + "'s" if peer else "the best peer's"
            text = verdict(value, limit, row["spread"], at_most=True)
            lines.append((f"at most {limit}× {whose} time: {row['what']}", value, text))
    return lines


def start_workers(arguments):
    script = [ROOT / "bench/fit/keras_fit.py", "--threads", str(arguments.threads), "--device", arguments.device]
    settings = {"OMP_NUM_THREADS": str(arguments.threads), "MKL_NUM_THREADS": str(arguments.threads)}
    return python_workers("bench-fit", arguments, script, PEERS, settings)


def main():
    parser = make_parser(__doc__, ",".join(PEERS), "", "fit.json", package=True)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="gpu: each library's own choice")
    arguments = parse_arguments(parser)
    cases = select_cases("bench-fit", CASES, arguments.cases)
    workers = start_workers(arguments)
    load = print_start(workers, arguments.rounds)
    tolerance = GPU_TOLERANCE if arguments.device == "gpu" else TOLERANCE
    with closing(workers):
        rows, problems = measure_cases(
            cases, workers, arguments.rounds, 60 if arguments.quick else 300, lambda case, runs: evaluate(case, runs, tolerance)
        )
    print_beside_peers("Per step", rows, PEERS)
    verdicts = print_wanted(wanted_lines(rows, arguments.device))
    problems += [f"{r['case']}: losses differ" for r in rows if r["differ"]]
    return write_report("bench-fit", arguments, workers, load, rows, verdicts, problems)


if __name__ == "__main__":
    sys.exit(main())
