"""Random models of Keras, sequential, functional and nested, saved whole and by weights: what is loaded has the same
configuration, weights, optimizer state and results, and trains on in the same way."""

import itertools
import json
import os

import numpy as np
import pytest
import tandem as tf
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

keras = tf.keras
layers = keras.layers
EXAMPLES = 60 if os.environ.get("TANDEM_LONG_TESTS") == "1" else 5

ACTIVATIONS = [None, "relu", "tanh", "gelu", tf.nn.relu, tf.nn.selu, tf.math.tanh, tf.nn.leaky_relu, tf.identity,
               keras.activations.softplus]  # fmt: skip
INITIALIZERS = ["glorot_uniform", "ones", keras.initializers.Constant(0.25), keras.initializers.Orthogonal(seed=1),
                keras.initializers.VarianceScaling(seed=2)]  # fmt: skip
REGULARIZERS = [None, "l2", keras.regularizers.L1L2(0.01, 0.02), keras.regularizers.OrthogonalRegularizer(0.01)]
CONSTRAINTS = [None, "non_neg", keras.constraints.MaxNorm(2.0), keras.constraints.UnitNorm()]


def _dense(draw):
    return layers.Dense(
        draw(st.integers(1, 4)), activation=draw(st.sampled_from(ACTIVATIONS)), use_bias=draw(st.booleans()),
        kernel_initializer=draw(st.sampled_from(INITIALIZERS)), kernel_regularizer=draw(st.sampled_from(REGULARIZERS)),
        kernel_constraint=draw(st.sampled_from(CONSTRAINTS)), dtype=draw(st.sampled_from([None, "mixed_bfloat16"])))  # fmt: skip


FLAT = [
    _dense, _dense,
    lambda draw: layers.BatchNormalization(momentum=0.5), lambda draw: layers.LayerNormalization(),
    lambda draw: layers.Dropout(0.25, seed=draw(st.integers(0, 9))), lambda draw: layers.GaussianNoise(0.1, seed=4),
    lambda draw: layers.Activation(draw(st.sampled_from(ACTIVATIONS[1:]))), lambda draw: layers.PReLU(),
    lambda draw: layers.Rescaling(0.5, 0.1), lambda draw: layers.UnitNormalization(),
    lambda draw: layers.EinsumDense("ab,bc->ac", output_shape=3, bias_axes="c"),
    lambda draw: layers.SpectralNormalization(layers.Dense(3)), lambda draw: layers.Lambda(tf.square),
]  # fmt: skip
STEPS = [
    lambda draw: layers.LSTM(2, return_sequences=True), lambda draw: layers.Bidirectional(layers.GRU(2, return_sequences=True)),
    lambda draw: layers.Conv1D(2, 2, padding="same", activation=draw(st.sampled_from(ACTIVATIONS))),
    lambda draw: layers.SimpleRNN(3, return_sequences=True), lambda draw: layers.TimeDistributed(layers.Dense(2)),
    lambda draw: layers.SeparableConv1D(2, 2, padding="same"), lambda draw: layers.MaxPooling1D(2, padding="same"),
]  # fmt: skip


@st.composite
def parts(draw, depth=2):
    """One layer, or a model as a layer."""
    if depth and draw(st.integers(0, 4)) == 0:
        inner = [draw(parts(depth=depth - 1)) for _ in range(draw(st.integers(1, 2)))]
        if not any(isinstance(part, tuple) for part in inner):
            return keras.Sequential(inner)
        return ("functional", inner)
    if draw(st.integers(0, 3)) == 0:
        return ("steps", draw(st.sampled_from(STEPS))(draw))
    return draw(st.sampled_from(FLAT))(draw)


def applied(part, x):
    if not isinstance(part, tuple):
        return part(x)
    kind, inner = part
    if kind == "steps":
        # Rows as steps of one number, and back.
        return layers.GlobalAveragePooling1D()(inner(layers.Reshape((-1, 1))(x)))
    start = keras.Input(x.shape[1:])
    end = start
    for item in inner:
        end = applied(item, end)
    return keras.Model(start, end)(x)


@st.composite
def models(draw):
    chosen = [draw(parts()) for _ in range(draw(st.integers(1, 4)))]
    kind = draw(st.sampled_from(["sequential", "functional", "two inputs", "two outputs", "shared"]))
    plain = [part for part in chosen if not isinstance(part, tuple)]
    if kind == "sequential":
        return kind, keras.Sequential([keras.Input((3,)), *plain, layers.Dense(1)])
    a = keras.Input((3,), name="a")
    x = a
    for part in chosen:
        x = applied(part, x)
    out = layers.Dense(1, name="out")(x)
    if kind == "two inputs":
        b = keras.Input((3,), name="b")
        return kind, keras.Model({"b": b, "a": a}, layers.Add()([out, layers.Dense(1)(b)]))
    if kind == "two outputs":
        return kind, keras.Model(a, {"z": out, "y": layers.Dense(1)(x)})
    if kind == "shared":
        shared = layers.Dense(3, activation="tanh")
        return kind, keras.Model(a, layers.Dense(1)(shared(shared(a))) + out)
    return kind, keras.Model(a, out)


OPTIMIZERS = [
    lambda: keras.optimizers.SGD(0.01, momentum=0.5), lambda: keras.optimizers.Adam(0.01, clipnorm=1.0),
    lambda: keras.optimizers.RMSprop(keras.optimizers.schedules.CosineDecay(0.01, 50)), lambda: "adamw",
    lambda: keras.optimizers.Adam(0.01, use_ema=True), lambda: keras.optimizers.Ftrl(0.01), lambda: "adafactor",
    lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.01)),
]  # fmt: skip
LOSSES = ["mse", keras.losses.LogCosh(), tf.math.squared_difference, keras.losses.mean_absolute_error]
METRICS = [[], ["mae"], [keras.metrics.RootMeanSquaredError(name="r")], [tf.math.squared_difference]]


def rows(kind):
    x = np.random.default_rng(1).normal(size=(6, 3)).astype("float32")
    given = {"a": x, "b": 1.0 - x} if kind == "two inputs" else x
    return given, {name: x[:, :1] for name in ("z", "y")} if kind == "two outputs" else x[:, :1]


def config_of(model):
    """[(place, value)] of what is in the configuration."""

    def walk(value, place):
        if isinstance(value, (dict, list)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            return [pair for key, part in items for pair in walk(part, f"{place}.{key}")]
        return [(place, value)]

    return walk(json.loads(json.dumps(model.get_config())), "")


def stored(model):
    """Keras stores no state of random numbers."""
    return [v for v in model.variables if v.name != "seed_generator_state"]


def values(variables):
    return [np.asarray(v).astype("float64") for v in variables]


def same(one, other, **tolerance):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, **tolerance, strict=True)


def results(model, given):
    return [np.asarray(leaf) for leaf in tf.nest.flatten(model.predict(given, verbose=0))]


@pytest.mark.filterwarnings("ignore")
def test_saved_and_loaded(tmp_path):
    numbers = itertools.count()

    # A failure shows its model: a smaller one takes minutes to find.
    @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(models(), st.sampled_from(OPTIMIZERS), st.sampled_from(LOSSES), st.sampled_from(METRICS))
    def run(made, optimizer, loss, metrics):
        kind, model = made
        given, wanted = rows(kind)
        two = kind == "two outputs"
        model.compile(optimizer(), {name: loss for name in wanted} if two else loss,
                      metrics={name: metrics for name in wanted} if two else metrics)  # fmt: skip
        model.fit(given, wanted, batch_size=3, epochs=2, shuffle=False, verbose=0)
        stem = str(tmp_path / str(next(numbers)))
        model.save(stem + ".keras")
        loaded = keras.saving.load_model(stem + ".keras")
        assert set(config_of(loaded)) ^ set(config_of(model)) == set()
        assert [v.name for v in loaded.variables] == [v.name for v in model.variables]
        assert loaded.optimizer.get_config() == model.optimizer.get_config()
        same(values(loaded.optimizer.variables), values(model.optimizer.variables))
        same(values(stored(loaded)), values(stored(model)))
        same(results(loaded, given), results(model, given))
        before = model.evaluate(given, wanted, verbose=0, return_dict=True)
        assert loaded.evaluate(given, wanted, verbose=0, return_dict=True) == pytest.approx(before)

        model.save_weights(stem + ".weights.h5")
        again = type(model).from_config(model.get_config())
        again.load_weights(stem + ".weights.h5")
        same(values(stored(again)), values(stored(model)))
        same(results(again, given), results(model, given))

        # Both go on in the same way, with the same random numbers.
        for one, other in zip(loaded.variables, model.variables, strict=True):
            if one.name == "seed_generator_state":
                one.assign(other)
        for one in (model, loaded):
            one.fit(given, wanted, batch_size=3, shuffle=False, verbose=0)
        same(values(loaded.variables), values(model.variables), rtol=1e-6, atol=1e-6)
        same(values(loaded.optimizer.variables), values(model.optimizer.variables), rtol=1e-6, atol=1e-6)

    run()
