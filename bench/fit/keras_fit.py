"""A worker of `make bench-fit`: Keras models on one backend. common/worker.h has the protocol.

Usage: keras_fit.py --library tandem|tensorflow|jax|torch --threads N [--device cpu|gpu]

One iteration is an epoch of `fit` (or `evaluate`, `predict`, or a loop of eager calls) with the default
progress bar; times are per step.
"""

import argparse
import faulthandler
import os
import signal
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--library", required=True)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="gpu: whatever the library chooses itself")
arguments = parser.parse_args()
faulthandler.register(signal.SIGTERM, chain=True)  # a run that is cut short says what it was at

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if arguments.device == "cpu":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

if arguments.library == "tandem":
    import tandem

    keras = tandem.keras
    tandem.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    version = f"Tandem {tandem.__version__} with Keras {keras.__version__}"
else:
    os.environ["KERAS_BACKEND"] = arguments.library
    import importlib

    import keras

    library = importlib.import_module(arguments.library)
    if arguments.library == "tensorflow":
        library.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    if arguments.library == "torch":
        library.set_num_threads(arguments.threads)
    version = f"{arguments.library} {library.__version__} with Keras {keras.__version__}"

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import worker

# Epochs at whose ends losses are compared, and their steps: few, since the order of sums differs.
CHECKED_EPOCHS, CHECKED_STEPS = 3, 10


def mlp(inputs, hidden):
    return keras.Sequential(
        [keras.Input((inputs,)), keras.layers.Dense(hidden, activation="relu"), keras.layers.Dense(10, "softmax")]
    )


def cnn():
    return keras.Sequential(
        [
            keras.Input((28, 28, 3)),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


# Model, shape of a sample, batch size, steps of an epoch.
MODELS = {
    "mlp_100_64": (lambda: mlp(100, 64), (100,), 32, 500),
    "mlp_784_128": (lambda: mlp(784, 128), (784,), 32, 500),
    "cnn": (cnn, (28, 28, 3), 64, 50),
}


class Case:
    def __init__(self, name):
        make, shape, self.batch, self.steps = MODELS[name]
        self.model = make()
        weights = [worker.random_values(i + 1, w.shape, -0.05, 0.05) for i, w in enumerate(self.model.get_weights())]
        self.model.set_weights(weights)
        self.model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        samples = self.batch * self.steps
        self.x = worker.random_values(100, (samples, *shape), 0, 1)
        self.y = worker.random_indices(101, (samples,), 10)
        n = self.batch * CHECKED_STEPS
        history = self.model.fit(
            self.x[:n], self.y[:n], batch_size=self.batch, epochs=CHECKED_EPOCHS, shuffle=False, verbose=0
        )
        self.losses = history.history["loss"]

    def fit(self, n):
        for _ in range(n):
            self.model.fit(self.x, self.y, batch_size=self.batch)

    def evaluate(self, n):
        for _ in range(n):
            self.model.evaluate(self.x, self.y, batch_size=self.batch)

    def predict(self, n):
        for _ in range(n):
            self.model.predict(self.x, batch_size=self.batch)

    def eager(self, n):
        """Hand-written calls of the model, one batch after another."""
        model, x, batch = self.model, self.x, self.batch
        for _ in range(n):
            for begin in range(0, len(x), batch):
                result = model(x[begin : begin + batch])
            # Devices and libraries that work asynchronously have to be done.
            np.asarray(keras.ops.convert_to_numpy(result))


def make_case(name, what):
    def make():
        case = Case(name)
        body = getattr(case, what)
        body(1)
        return {"body": body, "ops": case.steps, "long": True, "digest": lambda: {"losses": case.losses}}

    return make


cases = {f"{name}_{what}": make_case(name, what) for name in MODELS for what in ("fit", "evaluate", "predict", "eager")}
worker.serve(arguments.library, version, arguments.threads, cases)
