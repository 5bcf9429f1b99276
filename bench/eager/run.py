#!/usr/bin/env python3
"""Eager execution beside PyTorch and TensorFlow: what `make bench-eager` runs.

Starts two Tandem workers and one of each peer, and gives them the same case in turn, round after
round, so that whatever else the machine does falls on all of them. A figure is the median over
rounds of the ratio within a round. The second Tandem worker shows how far the same program is from
itself (A/A); a wanted line that is missed or met by less than that is called open.
"""

import argparse
import datetime
import json
import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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


class Worker:
    """A process that speaks the protocol of worker.h."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        about = self.ask("list")
        self.library, self.threads = about["library"], about["threads"]
        self.cases = about["cases"]

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the {self.name} worker has ended (status {self.process.wait()})")
        return json.loads(line)

    def forms(self, case):
        """The names under which the worker offers the case: CASE or CASE@form."""
        return [name for name in self.cases if name.split("@")[0] == case]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


@dataclass
class Series:
    """One worker's rounds of one case: medians in nanoseconds."""

    total: list = field(default_factory=list)
    overhead: list = field(default_factory=list)  # total minus kernel, where that was measured
    form: str = ""
    digest: float = math.nan


def one_round(worker, form, budget_ms):
    answer = worker.ask(f"run {form} {budget_ms}")
    if "error" in answer:
        raise RuntimeError(f"{worker.name}, {form}: {answer['error']}")
    total = statistics.median(answer["ns"])
    kernel = answer["kernel_ns"]
    differences = [t - k for t, k in zip(answer["ns"], kernel)]
    return total, statistics.median(differences) if kernel else total, answer["digest"]


def measure(case, workers, rounds, budget_ms):
    """{worker: Series}, by rounds of A B C A' A B C A' …"""
    runs = {(w.name, form): Series(form=form) for w in workers for form in w.forms(case)}
    failed = {}
    for _ in range(rounds):
        for worker in workers:
            for form in worker.forms(case):
                if (worker.name, form) in failed:
                    continue
                # Threads that wait for work in a loop give up within this time.
                time.sleep(0.02)
                try:
                    total, overhead, digest = one_round(worker, form, budget_ms)
                except RuntimeError as error:
                    failed[worker.name, form] = str(error)
                    continue
                series = runs[worker.name, form]
                series.total.append(total)
                series.overhead.append(overhead)
                series.digest = digest
    best = {}
    for (name, form), series in runs.items():
        if (name, form) in failed or not series.total:
            continue
        if name not in best or statistics.median(series.total) < statistics.median(best[name].total):
            best[name] = series
    return best, list(failed.values())


def ratio(above, below):
    """Median over rounds of above / below."""
    return statistics.median(a / b for a, b in zip(above, below))


def aa_spread(first, second):
    """How far from 1 the same program's ratio to itself is in three of four rounds."""
    ratios = sorted(max(a / b, b / a) - 1 for a, b in zip(first, second))
    return ratios[min(len(ratios) - 1, (3 * len(ratios)) // 4)]


def evaluate(case, best):
    """The figures of one case; ratios are None where a peer has no figure."""
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
    digests = [best[name].digest for name in ["tandem", *peers]]
    row["agrees"] = all(math.isclose(d, digests[0], rel_tol=1e-3) for d in digests)
    return row


def duration(ns):
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.2f} {unit}"
    return f"{ns:.0f} ns"


def times(row, name):
    return f"{row[name]:.2f}×" if name in row else "–"


def print_table(header, rows):
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    def show(line):
        cells = [text.ljust(w) if i == 0 else text.rjust(w) for i, (text, w) in enumerate(zip(line, widths))]
        print("| " + " | ".join(cells) + " |")
    show(header)
    print("|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|")
    for row in rows:
        show(row)


def verdict(value, limit, spread, at_most=False):
    """Whether the line holds, given that figures closer than the spread are not told apart."""
    good, bad = (value <= limit, value > limit) if at_most else (value >= limit, value < limit)
    if abs(value / limit - 1) <= spread:
        return f"open: {'holds' if good else 'does not hold'}, but by less than the A/A spread"
    return "does not hold" if bad else "holds"


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


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
    width = max((len(what) for what, _, _ in lines), default=0)
    print("\nWanted:")
    for what, value, text in lines:
        print(f"  {value:5.2f}×  {what:<{width}}  {text}")
    for r in rows:
        if not r["agrees"]:
            print(f"  WARNING: {r['what']}: the workers computed different things")
    return [{"what": what, "value": value, "verdict": text} for what, value, text in lines]


def site_packages(venv):
    return next((venv / "lib").glob("python3*/site-packages"))


def start_workers(arguments):
    venv = arguments.venv
    if not venv:
        venv = Path(subprocess.run([ROOT / "tools/bench-env"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip())
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


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", help="comma-separated names, or parts of names; default: all")
    parser.add_argument("--rounds", type=int, help="default 9")
    parser.add_argument("--quick", action="store_true", help="3 short rounds: to try things out, not for figures")
    parser.add_argument("--threads", type=int, default=2, help="of every worker (default 2)")
    parser.add_argument("--peers", default="torch,tensorflow", help="default: torch,tensorflow")
    parser.add_argument("--venv", type=Path, help="environment with the peers (default: what tools/bench-env makes)")
    parser.add_argument("--tandem", type=Path, default=ROOT / "build/release/bin/bench_eager", help="Tandem's worker")
    parser.add_argument("--output", type=Path, default=ROOT / "build/bench/eager.json")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 9)
    return arguments


def main():
    arguments = parse_arguments()
    wanted = arguments.cases.split(",") if arguments.cases else [""]
    cases = [c for c in SMALL | LARGE if any(part == c or (part not in SMALL | LARGE and part in c) for part in wanted)]
    if not cases:
        sys.exit(f"bench-eager: no case named {arguments.cases}; there are: {', '.join(SMALL | LARGE)}")

    workers = start_workers(arguments)
    load = os.getloadavg()[0]
    for worker in workers[:-1]:
        print(f"{worker.library}, {worker.threads} threads")
    print(f"{arguments.rounds} rounds, load of the machine before the start: {load:.2f}")
    rows, problems = [], []
    try:
        for case in cases:
            budget_ms = (50 if arguments.quick else 150) if case in SMALL else (60 if arguments.quick else 250)
            best, failed = measure(case, workers, arguments.rounds, budget_ms)
            problems += failed
            if "tandem" in best and "tandem again" in best:
                rows.append(evaluate(case, best))
            if sys.stderr.isatty():
                print(f"\r{len(rows)}/{len(cases)} {case:<30}", end="", file=sys.stderr, flush=True)
    finally:
        for worker in workers:
            worker.close()
    verdicts = report(rows)
    for problem in problems:
        print(f"  FAILED: {problem}")

    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(
        json.dumps(
            {
                "date": datetime.date.today().isoformat(),
                "command": "make bench-eager" + (f' ARGS="{" ".join(sys.argv[1:])}"' if sys.argv[1:] else ""),
                "load_before": load,
                "libraries": [w.library for w in workers[:-1]],
                "threads": arguments.threads,
                "rounds": arguments.rounds,
                "cases": rows,
                "wanted": verdicts,
                "failed": problems,
            },
            indent=1,
        )
    )
    print(f"\nwritten: {os.path.relpath(arguments.output)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
