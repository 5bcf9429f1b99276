#!/usr/bin/env python3
"""Writes tests/cpu/train/data/train.json: what Keras's optimizers, losses and layers compute.

Needs TensorFlow and Keras in the Python that runs it (tools/bench-env makes such an environment);
the tests only read the file. usage: make_train_reference.py > tests/cpu/train/data/train.json
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(20261115)
STEPS = 10


def plain(v):
    v = float(v)
    # Nine digits tell float32 numbers apart.
    return float(f"{v:.9g}") if np.isfinite(v) else str(v)


def tensor(t):
    t = tf.convert_to_tensor(t)
    values = t.numpy().ravel()
    exact = t.dtype == tf.float64
    return dict(dtype=t.dtype.name, shape=t.shape.as_list(), values=[float(v) if exact else plain(v) for v in values])


def normal(shape, dtype="float32", scale=1.0):
    return (scale * rng.standard_normal(shape)).astype(dtype)


# ---- Optimizers ----------------------------------------------------------------------------------
# Some steps have small gradients and some large ones, so that every kind of clipping matters in
# some steps and not in others.
def gradients(dtype):
    scales = [1, 0.1, 3, 0.01, 1, 1, 0.3, 2, 0.1, 1]
    return [[normal(s, dtype, scale) for s in SHAPES] for scale in scales]


SHAPES = [(2, 3), (4,), ()]


def optimizer_case(name, options, note="", dtype="float32", learning_rates=None, schedule=None):
    initial = [normal(s, dtype) for s in SHAPES]
    steps = gradients(dtype)
    if "non_finite" in note:
        steps[3][1][2] = np.inf
        steps[7][0][0, 0] = np.nan
    variables = [tf.Variable(v, name=f"v{i}") for i, v in enumerate(initial)]
    arguments = dict(options)
    if schedule:
        arguments["learning_rate"] = keras.optimizers.schedules.ExponentialDecay(**schedule)
    wrapper = arguments.pop("loss_scale", None)
    optimizer = getattr(keras.optimizers, name)(**arguments)
    if wrapper:
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, **wrapper)
    after = []
    for i, step in enumerate(steps):
        if learning_rates and str(i) in learning_rates:
            optimizer.learning_rate = learning_rates[str(i)]
        optimizer.apply([tf.constant(g) for g in step], variables)
        after.append([tensor(v) for v in variables])
    state = [tensor(tf.cast(v.value, "float64") if "int" in v.dtype else v.value) for v in optimizer.variables]
    if wrapper:
        # The wrapper has an iteration and a learning rate of its own, which it does not use.
        state = state[2:]
    return dict(optimizer=name, options=options, note=note, learning_rates=learning_rates or {}, schedule=schedule,
                initial=[tensor(v) for v in initial], gradients=[[tensor(g) for g in step] for step in steps],
                after=after, state=state)


def sparse_case(name, options):
    table = normal((5, 2))
    variable = tf.Variable(table)
    optimizer = getattr(keras.optimizers, name)(**options)
    steps, after = [], []
    for rows in [[0, 3], [4], [3, 1, 0], [2, 4], [0, 1, 2, 3, 4]]:
        values = normal((len(rows), 2))
        optimizer.apply([tf.IndexedSlices(tf.constant(values), tf.constant(rows), tf.constant([5, 2]))], [variable])
        steps.append(dict(rows=rows, values=tensor(values)))
        after.append(tensor(variable))
    return dict(optimizer=name, options=options, initial=tensor(table), steps=steps, after=after)


optimizers = [
    optimizer_case("SGD", {}),
    optimizer_case("SGD", dict(learning_rate=0.1, momentum=0.9)),
    optimizer_case("SGD", dict(learning_rate=0.1, momentum=0.8, nesterov=True)),
    optimizer_case("SGD", dict(learning_rate=0.1, weight_decay=0.05)),
    optimizer_case("SGD", dict(learning_rate=0.1, clipnorm=0.7)),
    optimizer_case("SGD", dict(learning_rate=0.1, clipvalue=0.4)),
    optimizer_case("SGD", dict(learning_rate=0.1, global_clipnorm=1.5)),
    optimizer_case("SGD", dict(learning_rate=0.1, loss_scale_factor=8.0)),
    optimizer_case("SGD", dict(momentum=0.9), schedule=dict(initial_learning_rate=0.2, decay_steps=3, decay_rate=0.5)),
    optimizer_case("Adam", {}),
    optimizer_case("Adam", dict(learning_rate=0.05, beta_1=0.8, beta_2=0.95, epsilon=1e-3)),
    optimizer_case("Adam", dict(learning_rate=0.05, amsgrad=True)),
    optimizer_case("Adam", dict(learning_rate=0.05, weight_decay=0.1, global_clipnorm=1.0)),
    optimizer_case("Adam", dict(learning_rate=0.05), dtype="float64"),
    optimizer_case("Adam", dict(learning_rate=0.05), learning_rates={"4": 0.01, "8": 0.2}),
    optimizer_case("AdamW", {}),
    optimizer_case("AdamW", dict(learning_rate=0.05, weight_decay=0.2, clipnorm=0.5)),
    optimizer_case("RMSprop", {}),
    optimizer_case("RMSprop", dict(learning_rate=0.02, rho=0.8, momentum=0.5)),
    optimizer_case("RMSprop", dict(learning_rate=0.02, centered=True, epsilon=1e-4)),
    optimizer_case("RMSprop", dict(learning_rate=0.02, centered=True, momentum=0.9, clipvalue=0.5)),
    optimizer_case("Adagrad", {}),
    optimizer_case("Adagrad", dict(learning_rate=0.5, initial_accumulator_value=0.01, epsilon=1e-3)),
    optimizer_case("Adagrad", dict(learning_rate=0.5, weight_decay=0.01)),
    optimizer_case("Adam", dict(learning_rate=0.05, loss_scale=dict(initial_scale=16.0, dynamic_growth_steps=3)),
                   note="non_finite"),
    optimizer_case("SGD", dict(learning_rate=0.05, momentum=0.9, loss_scale=dict(initial_scale=4.0, dynamic_growth_steps=2)),
                   note="non_finite"),
]
sparse = [
    sparse_case("SGD", dict(learning_rate=0.1)),
    sparse_case("SGD", dict(learning_rate=0.1, momentum=0.9)),
    sparse_case("SGD", dict(learning_rate=0.1, clipnorm=0.5)),
    sparse_case("Adam", dict(learning_rate=0.1)),
    sparse_case("Adam", dict(learning_rate=0.1, amsgrad=True, global_clipnorm=0.7)),
    sparse_case("RMSprop", dict(learning_rate=0.1)),
    sparse_case("Adagrad", dict(learning_rate=0.1)),
    sparse_case("Adagrad", dict(learning_rate=0.1, clipvalue=0.3, weight_decay=0.01)),
]

# ---- Losses --------------------------------------------------------------------------------------
losses = []


def loss_case(name, targets, predictions, sample_weight=None, **options):
    predictions = tf.constant(predictions)
    loss = getattr(keras.losses, name)(**options)
    with tf.GradientTape() as tape:
        tape.watch(predictions)
        value = loss(targets, predictions, sample_weight=sample_weight)
        total = tf.reduce_sum(value)
    losses.append(dict(loss=name, options=options, targets=tensor(targets), predictions=tensor(predictions),
                       sample_weight=None if sample_weight is None else tensor(sample_weight),
                       value=tensor(value), gradient=tensor(tape.gradient(total, predictions))))


logits = normal((5, 4), scale=2)
probabilities = tf.nn.softmax(logits).numpy()
labels = np.array([0, 3, 2, 2, 1], np.int32)
one_hot = np.eye(4, dtype=np.float32)[labels]
soft = tf.nn.softmax(normal((5, 4))).numpy()
weight = np.array([1, 0.5, 2, 0, 1], np.float32)
for name, targets in [("SparseCategoricalCrossentropy", labels), ("CategoricalCrossentropy", soft)]:
    loss_case(name, targets, logits, from_logits=True)
    loss_case(name, targets, probabilities)
    loss_case(name, targets, probabilities * 0.5)
    loss_case(name, targets, logits, from_logits=True, reduction="sum")
    loss_case(name, targets, logits, from_logits=True, reduction="none")
    loss_case(name, targets, logits, weight, from_logits=True)
loss_case("SparseCategoricalCrossentropy", labels[:, None], logits, from_logits=True)
loss_case("CategoricalCrossentropy", one_hot, logits, from_logits=True, label_smoothing=0.1)
loss_case("CategoricalCrossentropy", one_hot, np.eye(4, dtype=np.float32)[[0, 1, 2, 2, 1]], label_smoothing=0.2)
bits = (normal((5, 4)) > 0).astype(np.float32)
loss_case("BinaryCrossentropy", bits, logits, from_logits=True)
loss_case("BinaryCrossentropy", bits, tf.sigmoid(logits).numpy())
loss_case("BinaryCrossentropy", bits, bits)
loss_case("BinaryCrossentropy", bits, logits, weight, from_logits=True, label_smoothing=0.1)
a, b = normal((5, 4)), normal((5, 4))
for name in ["MeanSquaredError", "MeanAbsoluteError", "Huber"]:
    loss_case(name, a, b)
    loss_case(name, a, b, weight)
    loss_case(name, a, b, reduction="none")
    loss_case(name, a[:, 0], b[:, :1])
loss_case("Huber", a, b, delta=0.3)

# ---- Layers --------------------------------------------------------------------------------------
layers = []


def layer_case(name, layer, inputs, weights=None, call=None, **facts):
    inputs = tf.constant(inputs)
    layer(inputs, **(call or {}))
    weights = [normal(w.shape, scale=0.5) for w in layer.weights] if weights is None else weights
    layer.set_weights(weights)
    with tf.GradientTape() as tape:
        if inputs.dtype.is_floating:
            tape.watch(inputs)
        y = layer(inputs, **(call or {}))
        # Not the plain sum: of a normalised tensor that has no gradient.
        target = tf.reduce_sum(y * tf.reshape(tf.range(tf.size(y), dtype=y.dtype) * 0.1, tf.shape(y)))
    sources = [v.value for v in layer.trainable_variables] + ([inputs] if inputs.dtype.is_floating else [])
    found = [tf.convert_to_tensor(g) for g in tape.gradient(target, sources)]
    layers.append(dict(layer=name, facts=facts, inputs=tensor(inputs), weights=[tensor(w) for w in weights], output=tensor(y),
                       gradients=[tensor(g) for g in found], weights_after=[tensor(w) for w in layer.get_weights()]))


L = keras.layers
layer_case("Dense", L.Dense(3), normal((4, 5)))
layer_case("Dense", L.Dense(3, activation="relu"), normal((2, 4, 5)), relu=True)
layer_case("Dense", L.Dense(2, use_bias=False), normal((4, 5)), bias=False)
layer_case("Conv2D", L.Conv2D(3, 3), normal((2, 6, 5, 2)))
layer_case("Conv2D", L.Conv2D(4, (3, 2), strides=2, padding="same", activation="relu"), normal((2, 7, 6, 2)),
           same=True, stride=2, relu=True)
layer_case("Conv2D", L.Conv2D(4, 3, groups=2, use_bias=False), normal((1, 5, 5, 4)), groups=2, bias=False)
positive = [np.float32([1.5, 0.5, -1]), np.float32([0.1, 0.2, 0.3]), np.float32([0.5, -0.5, 1]), np.float32([1, 2, 0.5])]
layer_case("BatchNorm", L.BatchNormalization(), normal((3, 2, 4, 3)), positive, dict(training=True), training=True)
layer_case("BatchNorm", L.BatchNormalization(), normal((3, 2, 4, 3)), positive, dict(training=False), training=False)
layer_case("BatchNorm", L.BatchNormalization(momentum=0.6, epsilon=1e-2), normal((6, 3)), positive, dict(training=True),
           training=True, momentum=0.6, epsilon=1e-2)
layer_case("LayerNorm", L.LayerNormalization(), normal((3, 4, 6)))
layer_case("LayerNorm", L.LayerNormalization(epsilon=0.1), normal((3, 6)), epsilon=0.1)
layer_case("LSTM", L.LSTM(3), normal((2, 5, 4)))
layer_case("LSTM", L.LSTM(3, return_sequences=True, go_backwards=True), normal((2, 5, 4)), sequences=True, backwards=True)
layer_case("Embedding", L.Embedding(6, 3), np.array([[1, 5], [0, 1]], np.int32))


class SelfAttention(keras.layers.Layer):
    def __init__(self, causal, **options):
        super().__init__()
        self.inner, self.causal = L.MultiHeadAttention(**options), causal

    def build(self, shape):
        self.inner.build(shape, shape)

    def call(self, x):
        return self.inner(x, x, use_causal_mask=self.causal)


layer_case("MultiHeadAttention", SelfAttention(False, num_heads=2, key_dim=3), normal((2, 4, 5)), heads=2, key_size=3)
layer_case("MultiHeadAttention", SelfAttention(True, num_heads=2, key_dim=3, value_dim=2, use_bias=False), normal((2, 4, 5)),
           heads=2, key_size=3, value_size=2, causal=True, bias=False)

print(json.dumps(dict(keras=keras.__version__, optimizers=optimizers, sparse=sparse, losses=losses, layers=layers),
                 separators=(",", ":")).replace('{"optimizer"', '\n{"optimizer"').replace('{"loss"', '\n{"loss"')
      .replace('{"layer"', '\n{"layer"'))
