#!/usr/bin/env python3
"""A training step of a small model of Keras 2 (tf_keras): Tandem beside TensorFlow, each with the same package.

Starts one worker per library, and gives both the same epochs in turn, so that whatever else the machine does falls on both.
A figure is the median over rounds of the ratio within a round. Needs tf-keras 2.21 in both Pythons (or on --path).
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
import json, sys, time
import numpy as np
import tensorflow as tf
import tf_keras as keras

rng = np.random.default_rng(0)
x = rng.random((6400, 64), dtype="float32")
y = rng.integers(0, 10, 6400)

def mlp():
    model = keras.Sequential([
        keras.layers.Dense(128, activation="relu", input_shape=(64,)),
        keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10),
    ])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return model

model = mlp()
steps = {"arrays": lambda: model.fit(x, y, batch_size=32, verbose=0),
         "dataset": lambda: model.fit(data, verbose=0),
         "evaluate": lambda: model.evaluate(x, y, batch_size=32, verbose=0)}
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
for line in sys.stdin:
    begin = time.perf_counter()
    steps[json.loads(line)]()
    print("@" + json.dumps((time.perf_counter() - begin) / 200), flush=True)
"""


class Worker:
    def __init__(self, command, env):
        self.process = subprocess.Popen(
            [*command, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env
        )

    def seconds(self, case):
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
        return sys.exit("bench keras2: a worker ended; run it by hand to see why")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", default=ROOT / "build/release/python", help="folder of the package tandem")
    parser.add_argument("--python", default=ROOT / ".venv/bin/python")
    parser.add_argument("--peer", default=ROOT / ".venv-bench/bin/python", help="a Python that has TensorFlow")
    parser.add_argument("--path", default="", help="folder with tf_keras, for both")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()

    shared = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    ours = {**shared, "PYTHONPATH": f"{options.package}{os.pathsep}{options.path}"}
    tandem = Worker([str(options.python), "-m", "tandem", "run", "--quiet"], ours)
    tensorflow = Worker([str(options.peer)], {**shared, "PYTHONPATH": options.path})
    result = {}
    for case in ("arrays", "dataset", "evaluate"):
        for worker in (tandem, tensorflow):
            worker.seconds(case)
        rounds = [(tandem.seconds(case), tensorflow.seconds(case)) for _ in range(options.rounds)]
        result[case] = {
            "tandem_us": round(statistics.median(r[0] for r in rounds) * 1e6, 1),
            "tensorflow_us": round(statistics.median(r[1] for r in rounds) * 1e6, 1),
            "tandem_is": round(statistics.median(r[0] / r[1] for r in rounds), 3),
        }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
