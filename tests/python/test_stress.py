"""A short piece of the fuzzers of threads and interrupts, with fixed seeds."""

import pathlib

import pytest

FUZZ = pathlib.Path(__file__).parents[1] / "fuzz"


def fuzz(run_python, name, *options, gpus):
    arguments = f"import sys\nsys.argv = {[name, *options]!r}\n"
    status, out, err = run_python(arguments + (FUZZ / f"{name}.py").read_text(), gpus=gpus)
    assert status == 0, out + err[-2000:]
    assert f"{name}: " in out


@pytest.mark.parametrize("gpus", [0, 2])
def test_threads(run_python, gpus):
    fuzz(run_python, "fuzz_threads", "--seed=1", "--seconds=200", "--rounds=1", gpus=gpus)
