"""Memory does not grow with the number of steps: programs of growth_cases.py on the host, on an emulated GPU and over two
devices. A few cases and layers, others every day; with TANDEM_LONG_TESTS=1 many and all, for 500 steps."""

import datetime
import gc
import logging
import os
import pathlib
import subprocess
import sys
import weakref

import pytest

import tandem as tf
from conftest import environment

PROGRAM = pathlib.Path(__file__).with_name("growth_cases.py")
LONG = os.environ.get("TANDEM_LONG_TESTS") == "1"


def run(gpus, *options):
    result = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), *options],
        env={"TANDEM_CPU_CACHE_MB": "0", **environment(gpus)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0 and result.stdout.endswith("growth_cases: 0 findings\n"), (
        "\n".join(line for line in result.stdout.splitlines() if not line.endswith(": ok")) + result.stderr[-3000:]
    )


def seed(gpus):
    """Of a place in the endless row of cases that moves on every day. A failure names its case by its own number."""
    return 1000 * gpus + (0 if LONG else 4 * (datetime.date.today().toordinal() % 200))


@pytest.mark.parametrize("gpus", [0, 1])
def test_steps_take_no_memory(gpus):
    cases = [] if LONG else ["--cases", "1", "--steps", "150"]
    run(gpus, "--seed", str(seed(gpus)), *(cases or ["--fixed", "--cases", "60", "--steps", "500"]))


def test_what_once_grew():
    run(0, "--fixed", "--cases", "0", "--steps", "500" if LONG else "150")


@pytest.mark.parametrize("gpus", [0, 2])
def test_steps_on_two_devices_take_no_memory(gpus):
    """MirroredStrategy over GPUs, and over two halves of the processor."""
    halves = [] if gpus else ["--cpus", "2"]
    cases = ["--cases", "30", "--steps", "500"] if LONG else ["--cases", "1", "--steps", "100"]
    run(gpus, "--mirrored", "--seed", str(2000 + seed(gpus)), *halves, *cases)


def test_what_is_new_replaces_what_was():
    """Functions, models, datasets and more that are made anew and let go; sizes that do not repeat."""
    run(1, "--cases", "0", "--new", *(["--long"] if LONG else []))


@pytest.mark.parametrize("gpus", [0, 1])
def test_every_layer(gpus):
    import growth_layers

    names = growth_layers.classes()
    share = len(names) // 26
    first = datetime.date.today().toordinal() * share
    some = [] if LONG else [names[(first + i) % len(names)] for i in range(share)]
    run(gpus, "--cases", "0", "--steps", "500" if LONG else "80", "--layers", *some)


@pytest.fixture
def frozen():
    """What is here already is not looked through again and again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_what_grows_is_found(frozen):
    """What the other tests are worth: a program that keeps something of every round is found, in each of the places that
    are looked at; one that keeps the last is not."""
    import growth_measure

    kept = []

    def grows(keep):
        kept.clear()
        watched = growth_measure.Watched(lambda: keep(tf.ones([300])), lambda: float(tf.reduce_sum(tf.ones([300]))))
        return watched.grows(40)

    assert grows(lambda x: kept.__setitem__(slice(None), [x])) == ""
    held = grows(kept.append)
    assert "CPU:0: " in held and "objects: " in held, held
    assert "malloc's memory" in grows(lambda x: kept.append(bytes(3000)))
    assert "memory rose" in grows(lambda x: kept.append(bytearray(b"x") * 300_000))


def test_a_function_keeps_so_many_traces(caplog):
    w = tf.Variable(2.0)

    @tf.function
    def f(x):
        return x * w

    held = f.get_concrete_function(tf.TensorSpec([1]))
    with caplog.at_level(logging.WARNING, logger="tensorflow"):
        graphs = []
        for n in range(2, 142):
            assert f(tf.ones([n])).shape == (n,)
            graphs.append(weakref.ref(f.get_concrete_function(tf.TensorSpec([n])).graph))
    assert len(f._list_all_concrete_functions()) == 128
    gc.collect()
    assert [g() is None for g in graphs] == [True] * 12 + [False] * 128
    assert sum("more than 128 traces" in r.getMessage() for r in caplog.records) == 1
    # Who holds a trace that was dropped calls it; a call with its shape traces again.
    assert held(tf.ones([1])).numpy() == [2.0]
    count = f.experimental_get_tracing_count()
    assert f(tf.ones([2])).numpy().tolist() == [2.0, 2.0] and f.experimental_get_tracing_count() == count + 1


def test_a_trace_that_is_called_stays():
    f = tf.function(lambda x: x + 1)
    for n in range(1, 200):
        f(tf.ones([1]))
        f(tf.ones([n]))
    assert f.experimental_get_tracing_count() == 199


def test_a_step_is_traced_for_kinds_of_batches_not_for_sizes():
    assert tf.keras.layers  # Keras is loaded first
    from tandem.keras_backend.step import StepFunction

    step = StepFunction(lambda data: {"sum": tf.reduce_sum(data[0])})
    for n in range(1, 12):
        # Batches of two ranks by turns.
        for x in (tf.ones([n]), tf.ones([n, n])):
            assert float(step(iter([(x,)]))["sum"]) == float(tf.size(x))
    assert sum(len(traces) for traces in step._traces.values()) == 4


def test_tables_fit_a_small_device(run_python):
    """Three tables of 2.5 MB, with Adam, and what updates them; ids differ from batch to batch."""
    status, out, err = run_python(
        """
        import numpy as np
        import tandem as tf

        keras, layers = tf.keras, tf.keras.layers
        inputs = [keras.Input((), dtype="int32") for _ in range(3)]
        h = layers.Concatenate()([layers.Embedding(20000, 32)(x) for x in inputs])
        model = keras.Model(inputs, layers.Dense(1)(h))
        model.compile("adam", "mse")
        ids = [np.random.randint(0, 20000, 40 * 32).astype("int32") for _ in inputs]
        model.fit(ids, np.random.rand(40 * 32), batch_size=32, epochs=2, verbose=0)
        model.fit(ids, np.random.rand(40 * 32), batch_size=24, verbose=0)
        print(tf.config.experimental.get_memory_info("GPU:0")["peak"] >> 20)
        """,
        gpus=1,
        env={"TANDEM_EMULATED_MEMORY_MB": "64"},
    )
    assert status == 0, err[-3000:]
    assert int(out) < 60
