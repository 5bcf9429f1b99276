#!/usr/bin/env python3
"""Public functions with sizes, shapes and indices of more than 32 bits.

    fuzz_sizes.py --seconds 60 [--seed N]

A finding is an error that is no class of TensorFlow's, a call that takes longer than 10 s, or a number that was cut:
the function gives for 2**32 + 1 and 2**32 + 2 what it gives for 1 and 2, and these differ. Half of the calls have the
number as an int64 argument of a traced function. A call that takes a minute, because no signal ends it, ends the run
with the stacks.
"""

import argparse
import functools
import inspect
import os
import pathlib
import random
import re
import resource
import signal
import sys
import time

import watchdog

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, os.environ.get("TANDEM_PACKAGE", str(ROOT / "build/dev/python")))

SPACES = ("", "nn", "math", "linalg", "image", "signal", "random", "ragged", "sparse", "strings", "experimental.numpy",
          "bitwise")  # fmt: skip
NAMES_OF_SIZES = re.compile(
    r"(^|_)(size|sizes|shape|depth|num|axis|axes|length|lengths|multiples|repeats|limit|n|k|maxlen|minlength|maxlength|"
    r"bins|nbins|height|width|rows|columns|count|shift|begin|offset|dim|dims|perm|paddings|crops|strides|dilations|rates|"
    r"groups|segments|buckets|classes|diagonal|radius|step|indices|ids)$"
)
MOST_BYTES = 6 << 30
# rot90 turns by a number modulo 4, which 2**32 divides.
EXCEPTIONS = {"image.rot90", "experimental.numpy.rot90"}


class Late(BaseException):
    pass


def functions(tf):
    from tandem._generated.names import NAMES

    for full in sorted(NAMES):
        if full.rpartition(".")[0] not in SPACES or full in EXCEPTIONS:
            continue
        function = functools.reduce(getattr, full.split("."), tf)
        if not inspect.isfunction(function):
            continue
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds and p.name != "name"]
        for target in parameters:
            if NAMES_OF_SIZES.search(target.name):
                yield full, function, [p.name for p in parameters if p.default is p.empty], target.name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    # What is as large as it says is refused, where it would take all of a machine's memory.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # every traced function is a new one
    import numpy as np

    import tandem as tf

    seed = options.seed if options.seed is not None else int(time.time())
    print(f"fuzz_sizes: --seed {seed}", flush=True)
    chance = random.Random(seed)
    allowed = (tf.errors.OpError, ValueError, TypeError, OverflowError, IndexError, NotImplementedError, AttributeError)
    found, calls = set(), 0

    def ring(*_):
        raise Late

    signal.signal(signal.SIGALRM, ring)

    def call(run, number):
        nonlocal calls
        calls += 1
        signal.alarm(10)
        watchdog.within(60)
        try:
            return [np.asarray(part) for part in tf.nest.flatten(run(number), expand_composites=True)]
        finally:
            signal.alarm(0)
            watchdog.done()

    def finding(name, argument, what):
        if (name, argument, what) not in found:
            found.add((name, argument, what))
            print(f"--- {name}({argument}=…): {what}", flush=True)

    def same(a, b):
        return len(a) == len(b) and all(p.shape == q.shape and np.array_equal(p, q) for p, q in zip(a, b))

    def run_with(function, arguments, argument, shape, traced):
        """A function of the number."""
        if not traced:
            return lambda number: function(**{**arguments, argument: shape(number)})
        signature = [tf.TensorSpec([], tf.int64)]
        staged = tf.function(lambda n: function(**{**arguments, argument: shape(n)}), signature, autograph=False)
        return lambda number: staged(tf.constant(number, tf.int64))

    table = list(functions(tf))
    tensors = (np.arange(9, dtype="float32").reshape(3, 3), np.arange(3, dtype="int32"), np.ones([1, 3, 3, 1], "float32"),
               np.arange(1, 4, dtype="int64"))  # fmt: skip
    of_space = {"sparse": (tf.sparse.from_dense(tensors[0]), tf.sparse.eye(3)), "strings": ("abcdef", ["a", "bc", "d"])}
    rows = lambda v: tf.SparseTensor([[0, 0]], tf.constant([1], tf.int64), tf.stack([v, 1]))  # noqa: E731
    # Of numbers and of tensors; NumPy's scalars and arrays are not made of tensors.
    shapes = (lambda v: v, lambda v: [v], lambda v: (v, 1), lambda v: [0, v], lambda v: [[v, 0], [0, 0]], rows)
    known = (*shapes, lambda v: np.int64(v), lambda v: np.array([v]), lambda v: tf.constant(v))
    deadline = time.monotonic() + options.seconds
    while time.monotonic() < deadline:
        name, function, required, argument = chance.choice(table)
        given = chance.choice((tensors, of_space.get(name.partition(".")[0], tensors)))
        arguments = {p: chance.choice((1, [1], [0]) if NAMES_OF_SIZES.search(p) else given) for p in required}
        traced = chance.random() < 0.5
        run = run_with(function, arguments, argument, chance.choice(shapes if traced else known), traced)
        results = {}
        # 2**40 first: what is allocated for such a size is refused, where 2**32 would take minutes.
        for number in ((1 << 40) + 1, 1, 2, (1 << 32) + 1, (1 << 32) + 2):
            try:
                results[number] = call(run, number)
            except allowed as error:
                if number > 2 and isinstance(error, tf.errors.ResourceExhaustedError):
                    break
            except Late:
                finding(name, argument, f"more than 10 s with {number}")
                break
            except Exception as error:  # noqa: BLE001  (a finding)
                finding(name, argument, f"{type(error).__name__}: {str(error)[:100]}")
                break
        small, large = (results.get(1), results.get(2)), (results.get((1 << 32) + 1), results.get((1 << 32) + 2))
        if None not in (*small, *large) and same(small[0], large[0]) and same(small[1], large[1]):
            if not same(*small):
                finding(name, argument, "the number was cut to 32 bits")
    print(f"fuzz_sizes: {calls} calls, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
