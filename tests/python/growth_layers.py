"""Every layer of keras.layers in a model that can be trained, for growth_cases.py. A layer that is new is here by itself:
its arguments are given by their names, and its input is the first kind that it takes."""

import inspect

import numpy as np

import tandem as tf

keras = tf.keras
layers = keras.layers

# What is no layer of its own, or needs another library.
_NOT = {"Layer", "Wrapper", "InputLayer", "Lambda", "Pipeline", "TFSMLayer", "JaxLayer", "FlaxLayer", "TorchModuleWrapper"}
_WORDS = np.array(["a", "b", "c d", "e f g"])

# What parameters without a default are given.
_ARGUMENTS = {
    "activation": lambda: "relu",
    "axes": lambda: 1,
    "cell": lambda: [layers.LSTMCell(4), layers.GRUCell(3)],
    "cells": lambda: [layers.GRUCell(4), layers.LSTMCell(3)],
    "dims": lambda: (2, 1),
    "equation": lambda: "abc,cd->abd",
    "factor": lambda: 0.2,
    "filters": lambda: 2,
    "head_dim": lambda: 4,
    "height": lambda: 6,
    "height_factor": lambda: 0.2,
    "input_dim": lambda: 50,
    "kernel_size": lambda: 3,
    "key_dim": lambda: 3,
    "layer": lambda: layers.Dense(3),
    "max_number": lambda: 3,
    "n": lambda: 2,
    "num_bins": lambda: 7,
    "num_heads": lambda: 2,
    "num_key_value_heads": lambda: 2,
    "num_query_heads": lambda: 4,
    "output_dim": lambda: 4,
    "output_shape": lambda: (None, 4),
    "output_size": lambda: 2,
    "pool_size": lambda: 2,
    "rate": lambda: 0.3,
    "scale": lambda: 0.5,
    "stddev": lambda: 0.1,
    "target_shape": lambda: (-1, 2),
    "units": lambda: 4,
    "width": lambda: 6,
    "width_factor": lambda: 0.2,
}
# What is given besides: nothing in the signature says it.
_MORE = {
    "Attention": {"use_scale": True},
    "Bidirectional": {"layer": lambda: layers.GRU(3)},
    "CategoryEncoding": {"num_tokens": 5},
    "Discretization": {"num_bins": 4},
    "GroupNormalization": {"groups": 2},
    "MelSpectrogram": {"fft_length": 128, "sequence_stride": 64, "num_mel_bins": 8},
    "RandomPosterization": {"factor": 3},
    "STFTSpectrogram": {"window": None},
    "TextVectorization": {"output_sequence_length": 3},
}


def _floats(*shape):
    return shape, "float32", lambda rng, n: rng.random((n, *shape), dtype=np.float32)


# Kinds of inputs, tried in this order: the shape without the batch, the dtype, and what makes a batch.
_INPUTS = {
    "vectors": _floats(5),
    "sequences": _floats(6, 4),
    "images": _floats(8, 8, 3),
    "volumes": _floats(6, 6, 6, 2),
    "volumes in time": _floats(3, 5, 5, 5, 2),
    "signals": _floats(400),
    "waves": _floats(300, 1),
    "ids": ((3,), "int32", lambda rng, n: rng.integers(0, 5, (n, 3)).astype("int32")),
    "categories": ((), "int32", lambda rng, n: rng.integers(0, 5, n).astype("int32")),
    "words": ((), "string", lambda rng, n: tf.constant(_WORDS[rng.integers(0, len(_WORDS), n)])),
}
_KINDS_OF = {
    "CategoryEncoding": "ids", "Embedding": "ids", "HashedCrossing": "categories", "Hashing": "ids", "IntegerLookup": "ids",
    "MelSpectrogram": "signals", "ReversibleEmbedding": "ids", "STFTSpectrogram": "waves", "StringLookup": "words",
    "TextVectorization": "words",
}  # fmt: skip
_KINDS_BY_ENDING = {"1D": "sequences", "2D": "images", "3D": "volumes"}


def _kinds(name):
    """The kinds of inputs that make sense: layers take others as long as nothing is computed."""
    module = getattr(layers, name).__module__
    if name in _KINDS_OF:
        return [_KINDS_OF[name]]
    if "image_preprocessing" in module:
        return ["images"]
    if name[-2:] in _KINDS_BY_ENDING and "LSTM" not in name:
        return [_KINDS_BY_ENDING[name[-2:]]]
    return ["sequences"] if "attention" in module else list(_INPUTS)


def classes():
    """Names of all."""
    found = []
    for name in sorted(dir(layers)):
        made = getattr(layers, name)
        if inspect.isclass(made) and issubclass(made, layers.Layer) and name not in _NOT and made.__name__ == name:
            found.append(name)
    return found


def make(name):
    made = getattr(layers, name)
    given = dict(_MORE.get(name, {}))
    for parameter in inspect.signature(made).parameters.values():
        needed = parameter.default is parameter.empty and parameter.kind in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        )
        if needed and parameter.name not in given:
            given[parameter.name] = _ARGUMENTS[parameter.name]
    layer = made(**{k: v() if callable(v) else v for k, v in given.items()})
    is_cell = hasattr(layer, "state_size") and not isinstance(layer, layers.RNN)
    return layers.RNN(layer) if is_cell else layer


# How a layer may want its inputs.
_CALLS = [
    lambda layer, x: layer(x),
    lambda layer, x: layer([x, x]),
    lambda layer, x: layer(x, x),
    lambda layer, x: layer({"images": x}),
]


def model_of(name):
    """(model, function from a generator of random numbers and a size to a batch). TypeError: nothing fits."""
    refused = []
    for kind in _kinds(name):
        shape, dtype, batch = _INPUTS[kind]
        for call in _CALLS:
            x = keras.Input(shape, dtype=dtype)
            try:
                layer = make(name)
                if hasattr(layer, "adapt"):
                    layer.adapt(batch(np.random.default_rng(0), 32))
                h = _numbers(call(layer, x))
            except Exception as error:  # each layer refuses in its own way
                refused.append(f"{kind}: {type(error).__name__} {str(error)[:80]}")
                continue
            return keras.Model(x, layers.Dense(1)(h)), batch
    raise TypeError(f"{name} takes no input that is known: {refused}")


def _numbers(h):
    """(batch, 3) of whatever a layer gives."""
    h = keras.ops.cast(tf.nest.flatten(h)[0], "float32")
    if len(h.shape) == 1:
        h = keras.ops.expand_dims(h, -1)
    if len(h.shape) > 2:
        h = keras.ops.mean(h, axis=tuple(range(1, len(h.shape) - 1)))
    return layers.Dense(3)(h)
