#!/usr/bin/env python3
"""Calls of every op of the table, and stored graphs, with what no program gives: drives the C++ tests that make them.

    tests/fuzz/fuzz_raw_ops.py [--seconds N] [--seed S] [--own-gpu]

Half of the time goes to `op_test --hostile`, a quarter of it on an emulated GPU, the rest to damaged graphs
(`hostile_graph_test`). Memory is guarded: a touch past the end of a tensor is a finding, as are a process that dies, a
call that does not end and an exception that is not Tandem's. With --own-gpu all of it runs on the GPU that the machine
has. TANDEM_BIN names another folder with the two programs.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

BIN = Path(os.environ.get("TANDEM_BIN", Path(__file__).resolve().parents[2] / "build/dev/bin"))
GRAPHS = 500  # for each start of the test
EMULATED = {"TANDEM_EMULATE_GPUS": "1", "TANDEM_CUDA": "0"}
# Several processes share the GPU; pages of the host's memory that come and go are no part of what is tried there.
OWN = {"TANDEM_GPU_MEMORY_MB": "1024", "TANDEM_GUARD_PAGES": "0"}


def environment(**values):
    return {**os.environ, "TANDEM_GUARD_PAGES": "1", "TANDEM_LOG": "error", **values}


def ops(seconds, seed, **values):
    command = [BIN / "op_test", "--hostile", "--seed", str(seed), "--seconds", str(max(1, int(seconds)))]
    done = subprocess.run(command, env=environment(**values), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = done.stdout.decode(errors="replace")
    print(*[line for line in text.splitlines() if line.startswith("FINDING")], sep="\n", end="")
    counts = re.search(r"hostile: (\d+) calls, (\d+) findings", text)
    return (int(counts[1]), int(counts[2])) if counts else (0, 1)


def graphs(seconds, seed, **more):
    end = time.monotonic() + seconds
    calls = found = 0
    while not calls or time.monotonic() < end:
        values = environment(TANDEM_TEST_SEED=str(seed + calls), TANDEM_TEST_GRAPHS=str(GRAPHS), **more)
        command = [BIN / "hostile_graph_test"]
        done = subprocess.run(command, env=values, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        calls += GRAPHS
        if done.returncode:
            lines = [line for line in done.stdout.decode(errors="replace").splitlines() if "seed " in line]
            print(*lines, sep="\n")
            found += max(1, len(lines))
    return calls, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="for all of it")
    parser.add_argument("--seed", type=int, help="another one each time when none is given")
    parser.add_argument("--own-gpu", action="store_true", help="on the GPU that the machine has")
    options = parser.parse_args()
    seed = int.from_bytes(os.urandom(3), "little") if options.seed is None else options.seed
    print(f"fuzz_raw_ops: --seed {seed}", flush=True)
    missing = [name for name in ("op_test", "hostile_graph_test") if not (BIN / name).exists()]
    if missing:
        sys.exit(f"fuzz_raw_ops: {' and '.join(missing)} must be built: make build TARGETS='op_test hostile_graph_test'")
    if options.own_gpu:
        parts = [ops(options.seconds * 0.75, seed, **OWN), graphs(options.seconds / 4, seed, **OWN)]
    else:
        parts = [
            ops(options.seconds / 2, seed),
            ops(options.seconds / 4, seed, **EMULATED),
            graphs(options.seconds / 4, seed),
        ]
    calls, found = (sum(column) for column in zip(*parts))
    print(f"fuzz_raw_ops: {calls} calls, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
