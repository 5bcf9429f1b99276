"""The models of `make bench-step` for the peers: parameters, inputs and labels, equal to those of
models.cc. Each peer's worker has the mathematics in its own words.

The parameters of a case are a list in the order of Tandem's variables. Kernels are [inputs, units],
filters [height, width, inputs, filters]; gates of an LSTM come in the order i, f, c, o.
"""

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.worker import random_indices, random_values

CLASSES = 10
CHECK_STEPS = 5
# While steps are timed: thousands of them on one batch stay near the first weights, since a model
# that has learnt its batch computes with denormal numbers.
TIMING_RATE = 1e-6
# A small epsilon, since PyTorch adds it in another place than Keras.
ADAM = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-9}
NORM_EPSILON = 1e-3
NORM_MOMENTUM = 0.99
STAGES = [64, 128, 256, 512]


@dataclass
class Sequences:
    """The size of a model over tokens."""

    features: int = 256
    heads: int = 4
    feed_forward: int = 1024
    blocks: int = 4
    time: int = 128
    vocabulary: int = 1000


def dense(inputs, units):
    return [(inputs, units), "zeros", units]


def norm(features):
    return ["ones", features, "zeros", features]


def lstm(inputs, units):
    return [(inputs, 4 * units), (units, 4 * units), "forget", 4 * units]


def block(s):
    size = s.features // s.heads
    heads = [(s.features, s.heads, size), "zeros", (s.heads, size)]
    output = [(s.heads, size, s.features), "zeros", s.features]
    ends = dense(s.features, s.feed_forward) + dense(s.feed_forward, s.features)
    return norm(s.features) + heads * 3 + output + norm(s.features) + ends


def conv_norm(inputs, filters, size):
    return [(size, size, inputs, filters)] + norm(filters)


def residual_blocks():
    """(inputs, filters, stride) of the blocks of ResNet-18."""
    channels = 64
    for filters in STAGES:
        yield channels, filters, 1 if filters == 64 else 2
        yield filters, filters, 1
        channels = filters


def residual(inputs, filters, stride):
    shortcut = conv_norm(inputs, filters, 1) if stride != 1 or inputs != filters else []
    return conv_norm(inputs, filters, 3) + conv_norm(filters, filters, 3) + shortcut


def tables(s):
    """Of tokens and of positions."""
    return [(s.vocabulary, s.features), (s.time, s.features)]


def transformer(batch, size):
    parameters = tables(size) + block(size) * size.blocks + norm(size.features) + dense(size.features, CLASSES)
    return Case("transformer", parameters, (batch, size.time), size.vocabulary, size=size)


def resnet18():
    blocks = sum((residual(*b) for b in residual_blocks()), [])
    return conv_norm(3, 64, 7) + blocks + dense(512, CLASSES)


@dataclass
class Case:
    model: str
    parameters: list  # shapes, those that are not random after their kind
    input: tuple
    tokens: int = 0
    check_rate: float = 1e-4
    classes: int = CLASSES
    label_per_token: bool = False  # else one for each sample
    bf16: bool = False  # what is not a variable is computed in bfloat16
    size: object = field(default_factory=Sequences)  # what the model's functions want to know

    def weights(self):
        """First values, as the C++ worker makes them: by the index of the variable."""
        values, kind = [], None
        for entry in self.parameters:
            if isinstance(entry, str):
                kind = entry
                continue
            shape = entry if isinstance(entry, tuple) else (entry,)
            if len(shape) >= 2:
                # Of a bias with several dimensions too: it is only another first value.
                limit = np.float32(math.sqrt(3 / (math.prod(shape) // shape[-1])))
                values.append(random_values(10 + len(values), shape, -limit, limit))
            elif kind == "forget":
                values.append(np.repeat(np.float32([0, 1, 0, 0]), shape[0] // 4))
            else:
                values.append(np.full(shape, 1 if kind == "ones" else 0, np.float32))
            kind = None
        return values

    def batch(self):
        x = random_indices(1, self.input, self.tokens) if self.tokens else random_values(1, self.input)
        labels = math.prod(self.input) if self.label_per_token else self.input[0]
        return x, random_indices(2, (labels,), self.classes)


def mlp(inputs, hidden, batch):
    return Case("mlp", dense(inputs, hidden) + dense(hidden, CLASSES), (batch, inputs))


CASES = {
    "mlp_100_64_b32": mlp(100, 64, 32),
    "mlp_100_64_b1024": mlp(100, 64, 1024),
    "mlp_784_128_b32": mlp(784, 128, 32),
    "mlp_784_128_b1024": mlp(784, 128, 1024),
    "cnn_b64": Case("cnn", [(3, 3, 3, 32), "zeros", 32] + dense(26 * 26 * 32, CLASSES), (64, 28, 28, 3)),
    "lstm_b32": Case("lstm", lstm(32, 128) + lstm(128, 128) + dense(128, CLASSES), (32, 64, 32)),
    "transformer_b8": transformer(8, Sequences()),
    "resnet18_b16": Case("resnet18", resnet18(), (16, 64, 64, 3), check_rate=1e-5),
}
