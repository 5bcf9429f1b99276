#!/usr/bin/env python3
"""Eager execution beside PyTorch and TensorFlow: what `make bench-eager` runs.

How rounds, ratios and verdicts work is in common/driver.py.
"""

import math
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.driver import (
    ROOT,
    Worker,
    aa_spread,
    closing,
    duration,
    environment,
    fastest_forms,
    geometric_mean,
    make_parser,
    measure_cases,
    parse_arguments,
    print_start,
    print_table,
    print_wanted,
    ratio,
    select_cases,
    times,
    verdict,
    write_report,
)

SMALL = {
    "add_4": "add of 4 floats",
    "chain_1000": "chain of 1,000 adds, per op",
    "matmul_64": "matmul 64×64",
    "add_4_taped": "add of 4 floats, tape records",
    "chain_1000_taped": "chain of 1,000 adds, tape records",
}
LARGE = {
    "matmul_1024": "matmul 1024",
    "conv_56_64_k3_64": "conv2d 8×56×56×64, 3×3, 64",
    "conv_28_128_k3_128": "conv2d 8×28×28×128, 3×3, 128",
    "conv_14_256_k3_256": "conv2d 8×14×14×256, 3×3, 256",
    "conv_56_64_k1_256": "conv2d 8×56×56×64, 1×1, 256",
    "reduce_sum_16m": "reduce_sum of 16 M",
    "add_16m": "add, 16 M",
    "mul_add_16m": "mul, then add, 16 M",
    "exp_16m": "exp, 16 M",
    "tanh_16m": "tanh, 16 M",
    "softmax_4096_1000": "softmax 4096×1000",
    "gather_100k_of_1m": "gather 100 k rows of 64 from 1 M",
    "layer_norm_4096_768": "layer norm 4096×768",
    "transpose_4096": "transpose 4096×4096",
}
WANTED_DISPATCH = 0.5  # of PyTorch's overhead, at most
WANTED_MEAN = 1.0  # of the best peer's speed over the large ops, at least
WANTED_EACH = 0.85  # the same for each of them


def evaluate(case, runs):
    """The figures of one case; ratios are None where a peer has no figure."""
    best = fastest_forms(runs)
    small = case in SMALL
    kind = "overhead" if small else "total"
    mine = getattr(best["tandem"], kind)
    row = {
        "case": case,
        "what": (SMALL | LARGE)[case],
        "ns": statistics.median(best["tandem"].total),
        "rounds": {name: {"total_ns": s.total, "overhead_ns": s.overhead, "form": s.form} for name, s in best.items()},
        "spread": aa_spread(mine, getattr(best["tandem again"], kind)),
    }
    if small:
        row["overhead_ns"] = statistics.median(mine)
    peers = [name for name in ("torch", "tensorflow") if name in best]
    for name in peers:
        theirs = getattr(best[name], kind)
        # Small: our overhead in units of theirs. Large: our speed in units of theirs.
        row[name] = ratio(mine, theirs) if small else ratio(theirs, mine)
    if not small and peers:
        row["best_peer"] = min(row[name] for name in peers)
    digests = [best[name].answer["digest"] for name in ["tandem", *peers]]
    row["agrees"] = all(math.isclose(d, digests[0], rel_tol=1e-3) for d in digests)
    return row


def report(rows):
    """Prints tables and verdicts; returns the verdicts."""
    lines = []
    small = [r for r in rows if r["case"] in SMALL]
    large = [r for r in rows if r["case"] in LARGE]
    if small:
        print("\nDispatch: time of a call minus that of its kernel, ours in units of theirs (lower is better)\n")
        print_table(
            ["case", "call", "overhead", "of PyTorch C++", "of TensorFlow (Python dispatch)", "A/A spread"],
            [
                [r["what"], duration(r["ns"]), duration(r["overhead_ns"]), times(r, "torch"), times(r, "tensorflow"), f"{r['spread']:.0%}"]
                for r in small
            ],
        )
        print(
            "\nSubtracted: for matmul 64×64 the kernel alone in the same worker, alternating with the calls"
            "\n(Tandem: the prepared kernel; PyTorch: sgemm of its MKL). For adds nothing: 4 floats take a few ns."
        )
        for r in small:
            if "torch" in r:
                text = verdict(r["torch"], WANTED_DISPATCH, r["spread"], at_most=True)
                lines.append((f"dispatch at most {WANTED_DISPATCH}× PyTorch's: {r['what']}", r["torch"], text))
    judged = [r for r in large if "best_peer" in r]
    if large:
        print("\nLarge ops: our speed in units of theirs (higher is better)\n")
        print_table(
            ["case", "Tandem", "to PyTorch C++", "to TensorFlow", "to the best peer", "A/A spread"],
            [
                [r["what"], duration(r["ns"]), times(r, "torch"), times(r, "tensorflow"), times(r, "best_peer"), f"{r['spread']:.0%}"]
                for r in large
            ],
        )
    if judged:
        print()
        for name, what in (("torch", "PyTorch C++"), ("tensorflow", "TensorFlow"), ("best_peer", "the best peer")):
            values = [r[name] for r in judged if name in r]
            if values:
                print(f"geometric mean to {what}: {geometric_mean(values):.2f}× over {len(values)} cases")
        mean = geometric_mean([r["best_peer"] for r in judged])
        # The mean of n independent figures is known √n times better than one of them.
        spread = math.sqrt(statistics.fmean(r["spread"] ** 2 for r in judged) / len(judged))
        lines.append((f"large ops at least {WANTED_MEAN}× the best peer, geometric mean", mean, verdict(mean, WANTED_MEAN, spread)))
        for r in judged:
            lines.append((f"at least {WANTED_EACH}× the best peer: {r['what']}", r["best_peer"], verdict(r["best_peer"], WANTED_EACH, r["spread"])))
    verdicts = print_wanted(lines)
    for r in rows:
        if not r["agrees"]:
            print(f"  WARNING: {r['what']}: the workers computed different things")
    return verdicts


def site_packages(venv):
    return next((venv / "lib").glob("python3*/site-packages"))


def start_workers(arguments):
    venv = environment(arguments)
    threads = ["--threads", str(arguments.threads)]
    tandem = [arguments.tandem, *threads]
    workers = [Worker("tandem", tandem)]
    if "torch" in arguments.peers:
        torch_worker = ROOT / "build/release/bench/torch_eager"
        subprocess.run([ROOT / "bench/eager/build-torch", site_packages(venv), torch_worker], check=True)
        workers.append(Worker("torch", [torch_worker, *threads]))
    if "tensorflow" in arguments.peers:
        script = ROOT / "bench/eager/tensorflow_eager.py"
        workers.append(Worker("tensorflow", [venv / "bin/python", script, *threads]))
    return workers + [Worker("tandem again", tandem)]


def main():
    arguments = parse_arguments(make_parser(__doc__, "torch,tensorflow", "bench_eager", "eager.json"))
    cases = select_cases("bench-eager", SMALL | LARGE, arguments.cases)
    workers = start_workers(arguments)
    load = print_start(workers, arguments.rounds)
    def budget_ms(case):
        return (50 if arguments.quick else 150) if case in SMALL else (60 if arguments.quick else 250)

    with closing(workers):
        rows, problems = measure_cases(cases, workers, arguments.rounds, budget_ms, evaluate)
    return write_report("bench-eager", arguments, workers, load, rows, report(rows), problems)


if __name__ == "__main__":
    sys.exit(main())
