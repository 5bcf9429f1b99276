"""Memory does not grow with the number of steps: programs of growth_cases.py on the host and on an emulated GPU. With
TANDEM_LONG_TESTS=1 many of them, for 500 steps, and every layer with variables."""

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
        env=environment(gpus), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0 and result.stdout.endswith("growth_cases: 0 findings\n"), (
        "\n".join(line for line in result.stdout.splitlines() if not line.endswith(": ok")) + result.stderr[-3000:]
    )


@pytest.mark.parametrize("gpus", [0, 1])
def test_steps_take_no_memory(gpus):
    cases, steps = (60, 500) if LONG else (2, 150)
    run(gpus, "--fixed", "--seed", str(20 * gpus), "--cases", str(cases), "--steps", str(steps))


@pytest.mark.skipif(not LONG, reason="every layer for 500 steps takes minutes: TANDEM_LONG_TESTS=1")
@pytest.mark.parametrize("gpus", [0, 1])
def test_every_layer(gpus):
    run(gpus, "--soak", "--cases", "0", "--steps", "500")


def test_a_function_keeps_so_many_traces(caplog):
    w = tf.Variable(2.0)

    @tf.function
    def f(x):
        return x * w

    held = f.get_concrete_function(tf.TensorSpec([1]))
    with caplog.at_level(logging.WARNING, logger="tandem"):
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
