#!/usr/bin/env python3
"""The cost of small eager ops in Python, beside PyTorch and TensorFlow: what `make bench-python` runs.

Starts one worker per library (and a second of Tandem, A/A) and gives them the same case in turn, round after
round, so that whatever else the machine does falls on all of them. A figure is the median over rounds of the
ratio within a round; the peers come from .venv-bench (tools/bench-env). Prints JSON and a table.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What is timed: one statement for both kinds of libraries, or TensorFlow's and PyTorch's.
CASES = {
    "a + b": "a + b",
    "a * 2.0": "a * 2.0",
    "a[0]": "a[0]",
    "m[1:3, 2]": "m[1:3, 2]",
    "add(a, b)": "add(a, b)",
    "sum(a)": "sum(a)",
    "matmul(m, m)": "matmul(m, m)",
    "reshape(a)": ("tf.reshape(a, [2, 4])", "torch.reshape(a, [2, 4])"),
    "concat": ("tf.concat([a, b], 0)", "torch.concat([a, b], 0)"),
    "float(s)": "float(s)",
    "numpy()": "a.numpy()",
    "constant(1.0)": ("tf.constant(1.0)", "torch.tensor(1.0)"),
    "constant(array)": ("tf.constant(x)", "torch.tensor(x)"),
    "assign_add": ("v.assign_add(a)", "v.add_(a)"),
    "gradient": ("gradient()", "gradient()"),
    "shape": "a.shape[0]",
}

WORKER = """
import json, sys, timeit
import numpy as np
library = sys.argv[1]
x, y = np.random.rand(8).astype("float32"), np.random.rand(8).astype("float32")
z = np.random.rand(8, 8).astype("float32")
if library == "torch":
    import torch
    torch.set_num_threads(1)
    a, b, m = torch.from_numpy(x), torch.from_numpy(y), torch.from_numpy(z)
    p = torch.from_numpy(x).clone().requires_grad_()
    def gradient():
        return torch.autograd.grad(torch.sum(p * p + p), p)
    names = dict(torch=torch, add=torch.add, sum=torch.sum, matmul=torch.matmul, v=torch.from_numpy(y).clone())
else:
    tf = __import__(library)
    a, b, m = tf.constant(x), tf.constant(y), tf.constant(z)
    p = tf.Variable(x)
    def gradient():
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(p * p + p)
        return tape.gradient(value, [p])
    names = dict(tf=tf, add=tf.add, sum=tf.reduce_sum, matmul=tf.matmul, v=tf.Variable(y))
names.update(a=a, b=b, m=m, s=a[0], x=x, gradient=gradient)
for line in sys.stdin:
    case, number = json.loads(line)
    print(json.dumps(timeit.timeit(case, number=number, globals=names) / number), flush=True)
"""


def statement_of(case, library):
    text = CASES[case]
    return text if isinstance(text, str) else text[library == "torch"]


class Worker:
    def __init__(self, name, python, library, env):
        self.name = name
        self.library = library
        self.process = subprocess.Popen(
            [str(python), "-c", WORKER, library],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env,
        )  # fmt: skip

    def seconds(self, case, number):
        self.process.stdin.write(json.dumps([statement_of(case, self.library), number]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"bench-python: the worker of {self.name} ended")
        return json.loads(answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", default=ROOT / "build/release/python", help="folder of the package tandem")
    parser.add_argument("--python", default=ROOT / ".venv/bin/python")
    parser.add_argument("--peers", default=ROOT / ".venv-bench/bin/python")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--number", type=int, default=5000)
    parser.add_argument("--cases", default="", help="parts of the names of the cases wanted, with commas between")
    options = parser.parse_args()

    env = {**os.environ, "PYTHONPATH": str(options.package)}
    peer_env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    workers = [
        Worker("tandem", options.python, "tandem", env),
        Worker("again", options.python, "tandem", env),
        Worker("torch", options.peers, "torch", peer_env),
        Worker("tensorflow", options.peers, "tensorflow", peer_env),
    ]
    result = {}
    wanted = options.cases.split(",")
    for case in (name for name in CASES if any(part in name for part in wanted)):
        for worker in workers:
            worker.seconds(case, options.number // 10 + 1)
        rounds = [[worker.seconds(case, options.number) for worker in workers] for _ in range(options.rounds)]
        result[case] = {
            worker.name: {
                "us": statistics.median(r[i] for r in rounds) * 1e6,
                "tandem_is": statistics.median(r[0] / r[i] for r in rounds),
            }
            for i, worker in enumerate(workers)
        }
    print(json.dumps(result, indent=1))
    print(f"{'case':<16}" + "".join(f"{w.name:>14}" for w in workers) + "   tandem / torch, / tensorflow, A/A")
    for case, row in result.items():
        times = "".join(f"{row[w.name]['us']:>11.2f} µs" for w in workers)
        ratios = "   " + "  ".join(f"{row[name]['tandem_is']:.2f}" for name in ("torch", "tensorflow", "again"))
        print(f"{case:<16}{times}{ratios}")


if __name__ == "__main__":
    main()
