"""compile, fit, evaluate and predict on Tandem's trainer: values and hooks as Keras on TensorFlow gives them
(tools/reference/make_fit_reference.py), and what only the loop itself decides."""

import json
import math
import pathlib

import numpy as np
import pytest

import tandem as tf
from conftest import not_in_keras_314
from fit_cases import CASES, compile_small, data, small_model

ANSWERS = json.loads((pathlib.Path(__file__).parent / "data/fit.json").read_text())
# float16 rounds differently where products are summed in another order.
TOLERANCE = {"mixed_precision": 2e-2, "batch_normalisation": 1e-3, "early_stopping_and_plateau": 1e-3}


@pytest.fixture(scope="module")
def keras():
    return tf.keras


def assert_same(given, wanted, rtol, where="result"):
    if isinstance(wanted, dict):
        assert sorted(given) == sorted(wanted), where
        for key in wanted:
            assert_same(given[key], wanted[key], rtol, f"{where}[{key!r}]")
    elif isinstance(wanted, list):
        assert len(given) == len(wanted), f"{where}: {given} instead of {wanted}"
        for i, (mine, theirs) in enumerate(zip(given, wanted)):
            assert_same(mine, theirs, rtol, f"{where}[{i}]")
    elif isinstance(wanted, float):
        same = math.isclose(given, wanted, rel_tol=rtol, abs_tol=1e-5) or (math.isnan(given) and math.isnan(wanted))
        assert same, f"{where}: {given} instead of {wanted}"
    else:
        assert given == wanted, where


def test_reference_is_up_to_date():
    assert sorted(ANSWERS) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_as_on_tensorflow(keras, name):
    keras.utils.set_random_seed(0)
    assert_same(CASES[name](keras, tf), ANSWERS[name], TOLERANCE.get(name, 2e-4))


@pytest.mark.parametrize("name", ["adam", "average_and_accumulation", "own_train_step", "order_of_hooks"])
def test_eager_steps_give_the_same(keras, name, monkeypatch):
    compile_model = keras.Model.compile

    def compile_eagerly(self, *args, **options):
        compile_model(self, *args, **options)
        self.run_eagerly = True

    monkeypatch.setattr(keras.Model, "compile", compile_eagerly)
    keras.utils.set_random_seed(0)
    assert_same(CASES[name](keras, tf), ANSWERS[name], 2e-4)


def test_functions_run_eagerly(keras):
    """tf.config.run_functions_eagerly holds for steps, too."""
    x, y = data(16, 6)
    seen = []

    class Model(keras.Sequential):
        def train_step(self, data):
            seen.append(tf.executing_eagerly())
            return super().train_step(data)

    model = compile_small(Model([keras.Input((6,)), keras.layers.Dense(3, activation="softmax")]), "sgd")
    tf.config.run_functions_eagerly(True)
    try:
        model.fit(x, y, batch_size=8, verbose=0)
    finally:
        tf.config.run_functions_eagerly(False)
    assert seen == [True, True]
    model.fit(x, y, batch_size=8, verbose=0)
    assert seen == [True, True, False]


# ---- The step


def test_the_optimizer_is_one_launch(keras):
    x, y = data(64, 6)
    layers = [keras.layers.Dense(7, activation="relu") for _ in range(6)]
    model = keras.Sequential([keras.Input((6,)), *layers, keras.layers.Dense(3, activation="softmax")])
    compile_small(model, "adam").fit(x, y, batch_size=8, verbose=0)
    text = model.train_function.last_trace.compiled.explain()
    updates = [line for line in text.splitlines() if "CPU:0 FusedMulti" in line or "CPU:0 Fused " in line]
    assert "x 14)" in text, text  # kernels and biases of seven layers
    assert sum("Sqrt" in line or "x 14" in line for line in updates) <= 4


def test_one_trace_serves_all_batches(keras):
    """The last batch is smaller: the same trace with a second plan."""
    x, y = data(60, 6)
    traced = []

    class Model(keras.Sequential):
        def train_step(self, data):
            traced.append(data[0].shape.as_list())
            return super().train_step(data)

    model = Model([keras.Input((6,)), keras.layers.Dense(3, activation="softmax")])
    compile_small(model, "sgd").fit(x, y, batch_size=8, epochs=3, verbose=0)
    assert traced == [[None, 6]]
    model.fit(x[:56], y[:56], batch_size=8, verbose=0)
    assert traced == [[None, 6]]
    # Batches given one by one come with a place for weights; they are traced with their sizes, then with those
    # that differ left open.
    for rows in (4, 4, 6, 8, 5):
        model.train_on_batch(x[:rows], y[:rows])
    assert traced[1:] == [[4, 6], [None, 6]]


def test_unbuilt_model_is_built_by_the_step(keras):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = keras.layers.Dense(4, activation="relu")
            self.out = keras.layers.Dense(3, activation="softmax")

        def call(self, x):
            return self.out(self.hidden(x))

    x, y = data(32, 6)
    model = compile_small(Model(), "adam")
    first = model.fit(x, y, batch_size=8, epochs=4, verbose=0).history["loss"]
    assert first[-1] < first[0]
    assert [tuple(w.shape) for w in model.trainable_variables] == [(6, 4), (4,), (4, 3), (3,)]
    sequential = compile_small(keras.Sequential([keras.layers.Dense(3, activation="softmax")]), "adam")
    sequential.fit(x, y, verbose=0)
    assert sequential.built


def test_random_layers_draw_anew_in_each_step(keras):
    x = np.ones((64, 50), np.float32)
    outputs = []

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.drop = keras.layers.Dropout(0.5, seed=3)
            self.dense = keras.layers.Dense(1)

        def call(self, x, training=False):
            return self.dense(self.drop(x, training=training))

        def train_step(self, data):
            dropped = self.drop(data[0], training=True)
            return {"kept": tf.reduce_mean(tf.cast(dropped > 0, tf.float32))}

    note = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: outputs.append(logs))
    model = Model()
    model.compile(optimizer="sgd", loss="mse")
    model.fit(x, np.zeros((64, 1)), batch_size=16, verbose=0, callbacks=[note])
    assert all(0.4 < logs["kept"] < 0.6 for logs in outputs)
    assert len({logs["kept"] for logs in outputs}) > 1


# ---- Order of rows


def rows_seen(keras, shuffle, seed=None):
    """The rows of each batch, as the model sees them."""
    seen = []

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.w = self.add_weight(shape=(), initializer="zeros")

        def call(self, x):
            return x * self.w

        def train_step(self, data):
            return {"rows": data[0]}

    if seed is not None:
        keras.utils.set_random_seed(seed)
    x = np.arange(10, dtype=np.float32)[:, None]
    model = Model()
    model.compile(loss="mse")
    note = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(np.asarray(logs["rows"]).ravel().astype(int).tolist())
    )
    model.fit(x, x, batch_size=4, epochs=2, shuffle=shuffle, verbose=0, callbacks=[note])
    return seen


def test_shuffling(keras):
    in_order = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert rows_seen(keras, False) == in_order * 2
    first = rows_seen(keras, True, seed=5)
    assert [len(batch) for batch in first] == [4, 4, 2] * 2
    assert sorted(sum(first[:3], [])) == list(range(10)) == sorted(sum(first[3:], []))
    # As on TensorFlow, where each epoch begins the sequence of a seed again.
    assert first[:3] == first[3:] != in_order
    assert rows_seen(keras, True, seed=5) == first
    batches = rows_seen(keras, "batch", seed=1)
    assert [sorted(batch) for batch in batches] == in_order * 2
    assert batches != in_order * 2


# ---- Datasets


def batches_of(x, y, size):
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(size)


def test_dataset_gives_what_arrays_give(keras, monkeypatch):
    from tandem.keras_backend import runners

    x, y = data(44, 6)
    weight = {0: 1.0, 1: 2.0, 2: 0.5}
    monkeypatch.setattr(runners, "_Python", None)  # everything has to run in the native loop
    results = []
    for as_dataset in (False, True):
        model = compile_small(small_model(keras), "adam", metrics=["accuracy"])
        inputs = (batches_of(x, y, 8).prefetch(2),) if as_dataset else (x, y)
        size = {} if as_dataset else {"batch_size": 8}
        trained = model.fit(*inputs, **size, epochs=2, shuffle=False, verbose=0, class_weight=weight).history
        evaluated = model.evaluate(*inputs, **size, verbose=0)
        predicted = model.predict(inputs[0], **size, verbose=0)
        results.append([trained["loss"] + trained["accuracy"] + evaluated, predicted])
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-6)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5)


def test_dataset_that_ends_early_or_never(keras):
    x, y = data(40, 6)
    model = compile_small(small_model(keras), "sgd")
    with pytest.warns(UserWarning, match="ran out of data"):
        short = model.fit(batches_of(x, y, 8), steps_per_epoch=3, epochs=2, shuffle=False, verbose=0)
    assert short.epoch == [0, 1] and int(model.optimizer.iterations) == 5
    endless = model.fit(batches_of(x, y, 8).repeat(), steps_per_epoch=4, epochs=3, shuffle=False, verbose=0)
    assert endless.epoch == [0, 1, 2] and int(model.optimizer.iterations) == 17
    unknown = batches_of(x, y, 8).filter(lambda x, y: tf.constant(True))
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(unknown, epochs=2, shuffle=False, verbose=0)
    assert int(model.optimizer.iterations) == 27


def test_error_inside_a_dataset(keras):
    x, y = data(32, 6)

    def fail(x, y):
        tf.debugging.assert_less(y, tf.constant(3, tf.int64))
        return x, y

    model = compile_small(small_model(keras), "sgd")
    bad = np.where(np.arange(32) < 20, y, 5)
    with pytest.raises(tf.errors.InvalidArgumentError):
        model.fit(batches_of(x, bad, 8).map(fail), shuffle=False, verbose=0)
    assert int(model.optimizer.iterations) == 2
    model.fit(batches_of(x, y, 8).map(fail), shuffle=False, verbose=0)
    with pytest.raises(ValueError, match="`y`"):
        model.fit(batches_of(x, y, 8), y, verbose=0)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "RMSprop"])
def test_sparse_rows_train_as_dense_ones(optimizer):
    """Columns that several rows have: a gradient in slices would count them one by one, and its squares too small."""
    given = np.random.default_rng(0).random((16, 10), dtype=np.float32)
    given = np.where(given < 0.5, given, 0)
    targets = np.ones((16, 1), np.float32)

    def trained(x):
        kernel = tf.Variable(np.linspace(0, 1, 10, dtype=np.float32)[:, None])
        options = {"centered": True} if optimizer == "RMSprop" else {}
        rule = getattr(tf.keras.optimizers, optimizer)(0.01, **options)

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                product = tf.sparse.sparse_dense_matmul(x, kernel) if isinstance(x, tf.SparseTensor) else x @ kernel
                loss = tf.reduce_mean((product - targets) ** 2)
            gradient = tape.gradient(loss, kernel)
            assert isinstance(gradient, tf.Tensor)
            rule.apply_gradients([(gradient, kernel)])

        for _ in range(4):
            step()
        return kernel.numpy()

    np.testing.assert_allclose(trained(tf.sparse.from_dense(given)), trained(tf.constant(given)), 1e-4, 1e-5)


# ---- Ragged and sparse batches

ROWS = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0], [0, 0, 0], [0, 0, 0], [4, 5, 0]], "float32")


def _sparse_model(keras):
    inputs = keras.Input((3,), sparse=True)
    model = keras.Model(inputs, keras.layers.Dense(1, kernel_initializer="ones")(inputs))
    model.compile(keras.optimizers.SGD(0.01), "mse")
    return model


@pytest.mark.parametrize("given", ["arrays", "dataset", "on_batch",
                                   pytest.param("generator", marks=not_in_keras_314("forgets empty rows at the end of a batch"))])
@pytest.mark.filterwarnings("ignore:.*ran out of data")
def test_sparse_batches(keras, given):
    """They were no data to fit(). Batches without any element, too."""
    def run(x):
        model, y = _sparse_model(keras), np.ones([6, 1], "float32")
        if given == "arrays":
            history = model.fit(x, y, batch_size=2, shuffle=False, verbose=0).history
            return history["loss"], model.predict(x, batch_size=2, verbose=0), model.evaluate(x, y, verbose=0)
        parts = x if isinstance(x, np.ndarray) else tf.sparse.to_dense(x).numpy()
        parts = [(parts[i : i + 2], y[:2]) for i in (0, 2, 4)]
        if x is not ROWS:
            parts = [(tf.sparse.from_dense(a), b) for a, b in parts]
        if given == "on_batch":
            return [model.train_on_batch(*part) for part in parts], *(model.predict_on_batch(a) for a, _ in parts)
        if given == "generator":
            return model.fit((part for part in parts), verbose=0).history["loss"], model.predict(parts[0][0], verbose=0)
        data = tf.data.Dataset.from_tensors(parts[0]).concatenate(tf.data.Dataset.from_tensors(parts[1]))
        return model.fit(data, verbose=0).history["loss"], model.predict(data, verbose=0), model.evaluate(data, verbose=0)

    for one, other in zip(run(tf.sparse.from_dense(ROWS)), run(ROWS), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("given", ["arrays", "dataset", "shuffled"])
def test_ragged_batches(keras, given):
    """Ragged in, ragged out: the rows of all batches are put together."""
    rows = tf.ragged.constant([[1.0], [2.0, 3.0, 4.0], [], [5.0], [6.0, 7.0]])

    class Sums(keras.Model):
        def train_step(self, data):
            x, y = data
            return {"loss": tf.reduce_sum(tf.reduce_sum(x, 1) - y)}

        def predict_step(self, data):
            x = data[0] if isinstance(data, tuple) else data
            return {"twice": x * 2.0, "sums": tf.reduce_sum(x, 1)}

    model, sums = Sums(), np.array([1, 9, 0, 5, 13], "float32")
    model.compile("sgd")
    if given == "dataset":
        rows_of = [(rows[:3], sums[:3]), (rows[3:], sums[3:])]
        data = tf.data.Dataset.from_tensors(rows_of[0]).concatenate(tf.data.Dataset.from_tensors(rows_of[1]))
        assert model.fit(data, epochs=2, verbose=0).history["loss"] == [0.0, 0.0]
        made = model.predict(data, verbose=0)
    else:
        history = model.fit(rows, sums, batch_size=2, epochs=2, shuffle=given == "shuffled", verbose=0).history
        assert history["loss"] == [0.0, 0.0]
        made = model.predict(rows, batch_size=2, verbose=0)
    assert made["twice"].to_list() == [[2.0], [4.0, 6.0, 8.0], [], [10.0], [12.0, 14.0]]
    assert made["sums"].tolist() == sums.tolist()


def test_ragged_results_of_dense_batches(keras):
    """Rows of ragged results are not those of the tensors that they consist of."""
    class Cut(keras.Model):
        def predict_step(self, data):
            return tf.RaggedTensor.from_tensor(data, padding=0.0)

    model = Cut()
    model.compile()
    assert model.predict(ROWS, batch_size=4, verbose=0).to_list() == tf.RaggedTensor.from_tensor(ROWS, padding=0.0).to_list()
