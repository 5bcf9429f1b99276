"""What the Python workers of benchmarks share: random inputs, timing, the protocol. worker.h has
the same in C++ and says what the protocol is.

A case is a dict: "body", a function that runs n iterations; "ops" in one iteration (times are
given per op); "digest", a function that returns further fields of the answer; "long": an iteration takes
milliseconds, and is warmed up already.
"""

import argparse
import json
import os
import sys
import time

import numpy as np

SAMPLE_NS = 250e3


def random_values(seed, shape, lo=-1.0, hi=1.0):
    """The numbers of random_value() in worker.h."""
    n = int(np.prod(shape))
    out = np.empty(n, np.float32)
    step = 1 << 22
    with np.errstate(over="ignore"):
        for begin in range(0, n, step):
            i = np.arange(begin, min(begin + step, n), dtype=np.uint64)
            z = np.uint64(seed << 40) + i * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
            unit = (z >> np.uint64(40)).astype(np.float32)
            out[begin : begin + step] = np.float32(lo) + np.float32(hi - lo) * unit * np.float32(2.0**-24)
    return out.reshape(shape)


def random_indices(seed, shape, limit):
    """The numbers of random_indices() in worker.h."""
    return (random_values(seed, shape, 0, 1) * np.float64(limit)).astype(np.int64)


def time_ns(body, n):
    begin = time.perf_counter_ns()
    body(n)
    return time.perf_counter_ns() - begin


def calibrate(body):
    body(2)
    n = 1
    while True:
        t = time_ns(body, n)
        if t >= SAMPLE_NS:
            return n
        n = max(n + 1, int(n * min(10.0, 1.2 * SAMPLE_NS / (t + 1))))


def measure(case, budget_ms):
    if budget_ms <= 0:
        return [1.0]
    n, least = (1, 1) if case.get("long") else (calibrate(case["body"]), 3)
    samples, spent = [], 0
    while len(samples) < 400 and (len(samples) < least or spent < budget_ms * 1e6):
        t = time_ns(case["body"], n)
        samples.append(t / (n * case.get("ops", 1)))
        spent += t
    return samples


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="large models and tensors at sizes for a CPU")
    parser.add_argument("--device", default="cuda", help="cuda or cpu, for workers that can use both")
    return parser.parse_args()


def threads_argument():
    return arguments().threads


def serve(worker, library, threads, cases):
    """Answers requests until stdin ends. `cases` maps names to functions that set the case up; the
    forms of the last case are kept for their next round."""
    # Libraries print to stdout at times: the protocol gets a descriptor of its own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    ready = {}
    for line in sys.stdin:
        request, *rest = line.split()
        try:
            if request == "list":
                answer = {"worker": worker, "library": library, "threads": threads, "cases": list(cases)}
            else:
                name, budget_ms = rest[0], float(rest[1]) if len(rest) > 1 else 200.0
                for other in [n for n in ready if n.split("@")[0] != name.split("@")[0]]:
                    del ready[other]
                if name not in ready:
                    ready[name] = cases[name]()
                case = ready[name]
                answer = {"case": name, "ns": measure(case, budget_ms), "kernel_ns": []} | case["digest"]()
        except Exception as error:  # the driver reports it and goes on
            text = str(error).strip()
            answer = {"error": f"{type(error).__name__}: {text[:500]}"}
        print(json.dumps(answer), file=answers, flush=True)
