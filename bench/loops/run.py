#!/usr/bin/env python3
"""Loops of data-dependent length and their gradients, beside TensorFlow and JAX: what `make bench-loops` runs.

Starts one worker per library (and a second of Tandem, A/A) and gives them the same case in turn, round after
round, so that whatever else the machine does falls on all of them. A figure is the median over rounds of the ratio
within a round; the peers come from .venv-bench (tools/bench-env). Prints JSON and a table. cases.py has the loops.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BODIES = ["elementwise", "recurrent", "indexed", "branching", "nested"]
CASES = [*BODIES, *(f"gradient of {name}" for name in BODIES), "second gradient of elementwise"]


class Worker:
    def __init__(self, name, python, library, turns, env):
        self.name = name
        self.process = subprocess.Popen(
            [str(python), str(Path(__file__).parent / "worker.py"), library, str(turns)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env,
        )  # fmt: skip

    def ask(self, case, number):
        self.process.stdin.write(json.dumps({"case": case, "number": number}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"bench-loops: the worker of {self.name} ended in {case}")
        return json.loads(answer)


def measure(case, workers, rounds, number):
    answers = [[worker.ask(case, number) for worker in workers] for _ in range(rounds + 1)][1:]  # the first one warms up
    expected = answers[0][-1]["value"]
    row = {}
    for i, worker in enumerate(workers):
        value = answers[0][i]["value"]
        row[worker.name] = {
            "ms": statistics.median(a[i]["seconds"] for a in answers) * 1e3,
            "tandem_is": statistics.median(a[0]["seconds"] / a[i]["seconds"] for a in answers),
            "agrees": abs(value - expected) <= 1e-3 * max(1.0, abs(expected)),
        }
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", default=ROOT / "build/release/python", help="folder of the package tandem")
    parser.add_argument("--python", default=ROOT / ".venv/bin/python")
    parser.add_argument("--peers", default=ROOT / ".venv-bench/bin/python")
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--number", type=int, default=3)
    parser.add_argument("--cases", help="comma-separated parts of names; default: all")
    options = parser.parse_args()

    env = {**os.environ, "PYTHONPATH": str(options.package)}
    peer_env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    workers = [
        Worker("tandem", options.python, "tandem", options.turns, env),
        Worker("again", options.python, "tandem", options.turns, env),
        Worker("tensorflow", options.peers, "tensorflow", options.turns, peer_env),
        Worker("jax", options.peers, "jax", options.turns, peer_env),
    ]
    wanted = options.cases.split(",") if options.cases else [""]
    cases = [case for case in CASES if any(part in case for part in wanted)]
    result = {case: measure(case, workers, options.rounds, options.number) for case in cases}
    print(json.dumps({"turns": options.turns, "cases": result}, indent=1))
    names = [w.name for w in workers]
    print(f"{options.turns} turns{'':<22}" + "".join(f"{name:>14}" for name in names) + "   tandem / tensorflow, / jax, A/A")
    for case, row in result.items():
        times = "".join(f"{row[name]['ms']:>11.3f} ms" for name in names)
        ratios = "  ".join(f"{row[name]['tandem_is']:.2f}" for name in ("tensorflow", "jax", "again"))
        different = [name for name in names if not row[name]["agrees"]]
        print(f"{case:<32}{times}   {ratios}" + (f"   differ from jax: {', '.join(different)}" if different else ""))


if __name__ == "__main__":
    main()
