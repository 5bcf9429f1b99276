#!/usr/bin/env python3
"""Is an interrupt ever lost? A timer's signal raises in the main thread at random moments of fit, tracing, eager ops,
datasets and functions; what the handler raises must come out of the call that it met, and the values of the next
round must be right. Reports what Python had to ignore (a signal in a destructor or a weak reference's callback).
A round that takes more than two minutes ends the run with the stacks."""

import argparse
import random
import signal
import sys
import time
import traceback

import numpy as np
import tandem as tf
import watchdog


class Interrupted(BaseException):
    """What the handler raises."""


class Watch:
    def __init__(self):
        self.raised = 0
        self.ignored = []
        self.where = ""
        signal.signal(signal.SIGALRM, self._handle)
        sys.unraisablehook = lambda u: self.ignored.append(f"{u.err_msg}: {u.object!r}")

    def _handle(self, _, frame):
        self.raised += 1
        self.where = "".join(traceback.format_stack(frame)[-7:])
        raise Interrupted

    def run(self, work, seconds):
        """Whether the exception of the handler came out, None: it was not called."""
        before, ignored = self.raised, len(self.ignored)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            work()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupted:
            return True
        if self.raised == before:
            return None
        # pybind11 clears every error while it writes the message of a call that fits no signature, which Keras asks
        # optree for whenever a model has no names of outputs.
        if "optree" in self.where.rstrip().splitlines()[-2]:
            self.ignored.append("an argument's repr() in a message of optree's")
        return len(self.ignored) > ignored  # nobody could raise it there


def make_works(rng):
    keras = tf.keras
    x = np.ones([256, 4], np.float32)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    y = np.ones([256, 2], np.float32)
    a = tf.ones([64, 64])
    v = tf.Variable(tf.zeros([64]))

    def fit():
        model.fit(x, y, batch_size=1, epochs=3, verbose=0)

    def retrace():
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=rng.choice([1, 2, 3]), epochs=1, verbose=0)

    def eager():
        for _ in range(2000):
            tf.reduce_sum(tf.matmul(a, a))

    def convert():
        for _ in range(300):
            tf.convert_to_tensor(model.layers[0].kernel)
            tf.as_dtype(model.layers[0].kernel.dtype)
            tf.cast(model.layers[0].kernel, tf.float64)

    def trace():
        for k in range(20):
            tf.function(lambda t, k=k: tf.reduce_sum(t * k + 1))(a)

    def iterate():
        for stage in (lambda d: d, lambda d: d.prefetch(2), lambda d: d.map(lambda e: e + 1, num_parallel_calls=2)):
            for _ in stage(tf.data.Dataset.range(200)):
                pass

    def update():
        step = tf.function(lambda: v.assign_add(tf.ones([64])))
        for _ in range(300):
            step()

    return {f.__name__: f for f in (fit, retrace, eager, convert, trace, iterate, update)}, v


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    watch = Watch()
    works, shared = make_works(rng)
    for work in works.values():
        work()  # imports and plans: an import that is interrupted cannot be repeated
    calls, findings, end = 0, 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        name = rng.choice(list(works))
        watchdog.within(120)
        came = watch.run(works[name], rng.choice([1e-4, 1e-3, 1e-2, 1e-1]) * (0.1 + rng.random()))
        signal.setitimer(signal.ITIMER_REAL, 0)
        calls += 1
        if came is False:
            findings += 1
            print(f"lost: call {calls}, {name}\n{watch.where}", flush=True)
        values = shared.numpy()
        if not (values == values[0]).all():
            findings += 1
            print(f"a variable is torn: call {calls}, {name}", flush=True)
    watchdog.done()
    print(f"{watch.raised} interrupts; ignored by Python where nothing can be raised: {len(watch.ignored)}")
    for text in sorted(set(watch.ignored))[:10]:
        print("  ", text[:160])
    print(f"fuzz_interrupts: {calls} calls, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
