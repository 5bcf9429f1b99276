#!/usr/bin/env python3
"""Session.run of a network's training step, beside the same step as a tf.function and beside TensorFlow's session.

Workers take turns, round after round, so that whatever else the machine does falls on all of them. A figure is the
median over rounds of the ratio within a round; the spread is that of the middle half. TensorFlow's worker needs
--tensorflow PYTHON; without it only the function is compared.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

WORKER = """
import json, sys, timeit
import numpy as np
library, threads = sys.argv[1], int(sys.argv[2])
if library == "tandem":
    import tandem
    tandem.install_as_tensorflow()
import tensorflow as tf2
tf = tf2.compat.v1
tf2.config.threading.set_intra_op_parallelism_threads(threads)
chance = np.random.RandomState(0)
X, Y = chance.rand(64, 784).astype("float32"), chance.randint(0, 10, 64)
first = [chance.randn(a, b).astype("float32") * 0.05 for a, b in ((784, 256), (256, 128), (128, 10))]

def loss_of(x, y, variables):
    for i in range(0, 6, 2):
        x = tf2.matmul(x, variables[i]) + variables[i + 1]
        x = tf2.nn.relu(x) if i < 4 else x
    return tf2.reduce_mean(tf2.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x))

with tf.Graph().as_default() as graph:
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    made = []
    for i, w in enumerate(first):
        made += [tf.get_variable(f"w{i}", initializer=w, use_resource=True),
                 tf.get_variable(f"b{i}", [w.shape[1]], initializer=tf.zeros_initializer(), use_resource=True)]
    loss = loss_of(x, y, made)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    sess = tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=threads))
    sess.run(tf.global_variables_initializer())
variables = [v for w in first for v in (tf2.Variable(w), tf2.Variable(np.zeros(w.shape[1], "float32")))]

@tf2.function
def step(x, y):
    with tf2.GradientTape() as tape:
        value = loss_of(x, y, variables)
    for v, g in zip(variables, tape.gradient(value, variables)):
        v.assign_sub(0.01 * g)
    return value

cases = {"session": lambda: sess.run([loss, train], {x: X, y: Y})[0], "function": lambda: step(X, Y).numpy()}
for line in sys.stdin:
    case, number = json.loads(line)
    print(json.dumps(timeit.timeit(cases[case], number=number) / number), flush=True)
"""


class Worker:
    def __init__(self, python, library, threads):
        env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        self._process = subprocess.Popen(
            [str(python), "-c", WORKER, library, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=env,
        )  # fmt: skip

    def seconds(self, case, number):
        self._process.stdin.write(json.dumps([case, number]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            sys.exit("bench: a worker ended")
        return json.loads(answer)


def line(name, ratios, limit):
    low, _, high = statistics.quantiles(ratios, n=4)
    median = statistics.median(ratios)
    print(f"{name:<44}{median:7.2f}   middle half {low:.2f} to {high:.2f}   at most {limit}: {'yes' if median <= limit else 'NO'}")
    return median <= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tensorflow", help="a Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    number = 30
    here = Worker(sys.executable, "tandem", options.threads)
    there = Worker(options.tensorflow, "tensorflow", options.threads) if options.tensorflow else None
    rows = []
    for turn in range(options.rounds + 2):
        row = {"session": here.seconds("session", number), "function": here.seconds("function", number)}
        if there:
            row["tensorflow"] = there.seconds("session", number)
        if turn >= 2:  # the first ones trace and plan
            rows.append(row)
    for case in rows[0]:
        print(f"{case:<44}{statistics.median(r[case] for r in rows) * 1e6:7.0f} us")
    good = line("session / function", [r["session"] / r["function"] for r in rows], 1.5)
    if there:
        good &= line("session / TensorFlow's session", [r["session"] / r["tensorflow"] for r in rows], 1.0)
    return 0 if good else 1


sys.exit(main())
