#!/usr/bin/env python3
"""Threads that share devices: eager ops, fresh functions, shared variables, datasets and fit at once, on the CPU and on
every GPU there is (emulated ones with TANDEM_EMULATE_GPUS=2). Every value is checked against what it has to be. With
TANDEM_TEST_NEEDS_GPU=1 a machine without a GPU is an error.

`--seed` gives the same programs; which thread is first differs. `--rounds N` ends after N rounds of each thread.
Threads that have not ended two minutes after their time end the run with their stacks.
"""

import argparse
import os
import random
import sys
import threading
import time
import traceback

import numpy as np
import tandem as tf
import watchdog

SIZE = 256


class Run:
    def __init__(self, seconds, rounds):
        self.end = time.monotonic() + seconds
        self.rounds = rounds
        self.calls = 0
        self.findings = []
        self.lock = threading.Lock()
        self.over = threading.Event()

    def turns(self):
        turn = 0
        while time.monotonic() < self.end and not (self.rounds and turn >= self.rounds):
            yield turn
            turn += 1
            with self.lock:
                self.calls += 1

    def expect(self, right, what, *values):
        if not right:
            with self.lock:
                self.findings.append(f"{what}: {' '.join(str(v)[:120] for v in values)}")


def eager(run, device, rng):
    for _ in run.turns():
        value = rng.randrange(1, 50)
        with tf.device("/CPU:0"):
            x = tf.fill([SIZE], float(value))
        with tf.device(device):
            y = x
            for _ in range(4):
                y = y * 2.0 - x
            z = tf.reduce_sum(tf.reshape(y, [16, 16]), axis=0)
        run.expect((y.numpy() == value).all() and (z.numpy() == 16 * value).all(), "eager", device, value, y.numpy()[:4])


def functions(run, device, rng):
    for _ in run.turns():
        start = float(rng.randrange(100))
        x = np.arange(SIZE, dtype=np.float32) + rng.randrange(1000)
        with tf.device(device):
            v = tf.Variable(tf.fill([SIZE], start))

            @tf.function
            def step(a):
                v.assign_add(a * 0.0 + 1.0)  # noqa: B023
                return v + a  # noqa: B023

            for k in range(3):
                y = step(x).numpy()
                run.expect((y == start + k + 1 + x).all(), "function", device, start, k, x[:4], y[:4])
            run.expect((v.numpy() == start + 3).all(), "variable of a function", device, start, v.numpy()[:4])


def adder(run, device, shared, counts, number):
    with tf.device(device):
        one = tf.ones([SIZE])
        while not run.over.is_set():
            shared.assign_add(one)
            counts[number] += 1
            seen = shared.numpy()
            run.expect((seen == seen[0]).all() and seen[0] >= counts[number], "shared variable", device, seen[:4])


def datasets(run, device, rng):
    for _ in run.turns():
        first, n, batch = rng.randrange(1000), rng.randrange(1, 60), rng.randrange(1, 9)
        made = tf.data.Dataset.range(first, first + n).map(lambda e: e * 3 + 1, num_parallel_calls=rng.choice([None, 2]))
        made = made.batch(batch)
        if rng.random() < 0.5:
            made = made.prefetch(2)
        wanted, seen = [3 * e + 1 for e in range(first, first + n)], []
        stop = rng.randrange(n + 1) if rng.random() < 0.3 else None
        for part in made:
            with tf.device(device):
                seen += tf.cast(part, tf.float32).numpy().tolist()
            if stop is not None and len(seen) >= stop:
                break
        run.expect(seen == wanted[: len(seen)] and (stop is not None or len(seen) == n), "dataset", device, first, seen[:4])


def training(run, device, rng):
    """Gradient descent on (w - goal)**2, whose weights are known at every step."""
    for _ in run.turns():
        goal = float(rng.randrange(1, 64))
        with tf.device(device):
            w = tf.Variable(tf.zeros([SIZE]))

            @tf.function
            def step(g):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum((w - g) ** 2)  # noqa: B023
                w.assign_sub(0.25 * tape.gradient(loss, w))  # noqa: B023
                return loss

            off = goal
            for _ in range(4):
                loss = float(step(np.full([SIZE], goal, np.float32)))
                run.expect(loss == SIZE * off * off, "loss", device, goal, loss)
                off /= 2
            run.expect((w.numpy() == goal - off).all(), "trained variable", device, goal, w.numpy()[:4])


def fit(run, device, rng):
    """A linear model without noise: what one thread's fit gives is what it gives beside others."""
    keras = tf.keras
    with tf.device(device):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, use_bias=False, kernel_initializer="ones")])
        model.compile(keras.optimizers.SGD(0.125), "mse")
    x = np.eye(4, dtype=np.float32)
    for _ in run.turns():
        goal = np.full([4, 2], float(rng.randrange(1, 9)), np.float32)
        model.layers[0].kernel.assign(np.ones([4, 2], np.float32))
        with tf.device(device):
            model.fit(x, goal, batch_size=4, epochs=2, shuffle=False, verbose=0)
            got = model.layers[0].kernel.numpy()
        off = (goal - 1.0) * (1 - 0.125 * 2 / 8) ** 2
        run.expect(np.allclose(got, goal - off, rtol=1e-5), "fit", device, goal[0, 0], got[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=0)
    options = parser.parse_args()
    devices = ["/CPU:0"] + [f"/GPU:{i}" for i in range(len(tf.config.list_logical_devices("GPU")))]
    if len(devices) == 1 and os.environ.get("TANDEM_TEST_NEEDS_GPU") == "1":
        sys.exit("fuzz_threads: there is no GPU here")
    print(f"seed {options.seed}, devices {devices}", flush=True)
    run = Run(options.seconds, options.rounds)
    watchdog.within(options.seconds + 120)
    works, adders, sums = [], [], []

    def start(into, body, *arguments):
        def guarded():
            try:
                body(run, *arguments)
            except Exception:  # noqa: BLE001
                run.expect(False, "exception", traceback.format_exc()[-1500:])

        into.append(threading.Thread(target=guarded))

    for d, device in enumerate(devices):
        with tf.device(device):
            shared = tf.Variable(tf.zeros([SIZE]))
        counts = [0] * 5
        sums.append((device, shared, counts))
        for number in range(5):
            start(adders, adder, device, shared, counts, number)
        for k, body in enumerate((functions, functions, functions, eager, datasets, training, fit)):
            start(works, body, device, random.Random(options.seed * 1000 + 100 * d + k))
    for thread in adders + works:
        thread.start()
    for thread in works:
        thread.join()
    run.over.set()
    for thread in adders:
        thread.join()
    for device, shared, counts in sums:
        run.expect((shared.numpy() == sum(counts)).all(), "sum", device, sum(counts), shared.numpy()[:4])
    watchdog.done()
    for text in run.findings[:10]:
        print(text)
    print(f"fuzz_threads: {run.calls + sum(sum(c) for _, _, c in sums)} calls, {len(run.findings)} findings")
    return 1 if run.findings else 0


if __name__ == "__main__":
    sys.exit(main())
