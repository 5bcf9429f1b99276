"""A short piece of the fuzzers of threads and interrupts, with fixed seeds, and how the fuzzer of ops judges."""

import os
import pathlib
import runpy
import shutil
import subprocess
import sys

import pytest

from conftest import has_real_gpu

FUZZ = pathlib.Path(__file__).parents[1] / "fuzz"


def fuzz(run_python, name, *options, gpus):
    arguments = f"import sys\nsys.argv = {[name, *options]!r}\nsys.path.insert(0, {str(FUZZ)!r})\n"
    status, out, err = run_python(arguments + (FUZZ / f"{name}.py").read_text(), gpus=gpus)
    assert status == 0, out + err[-2000:]
    assert f"{name}: " in out


@pytest.mark.parametrize("gpus", [0, 1, 2])
def test_threads(run_python, gpus):
    if gpus == 1 and not has_real_gpu():
        pytest.skip("several emulated GPUs stand for one")
    fuzz(run_python, "fuzz_threads", "--seed=1", "--seconds=200", "--rounds=1", gpus=gpus)


WAITS_FOR_EVER = """#!/usr/bin/env python3
import signal, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
while True:
    time.sleep(1000)
"""


def test_a_fuzzer_that_does_not_end_is_a_finding(tmp_path):
    shutil.copy(FUZZ / "run", tmp_path)
    fuzzer = tmp_path / "fuzz_nothing.py"
    fuzzer.write_text(WAITS_FOR_EVER)
    fuzzer.chmod(0o755)
    done = subprocess.run([sys.executable, str(tmp_path / "run"), "--minutes", "0", "--margin", "3"], cwd=tmp_path,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "fuzz_nothing: no end" in done.stdout and "with findings: fuzz_nothing" in done.stdout
    # The output has ended, which the child of the fuzzer had open as well: it is gone, too.


def test_a_call_that_does_not_return_is_told_with_its_stack():
    program = "import watchdog, time\ndef call():\n    time.sleep(1000)\nwatchdog.within(0.2)\ncall()\n"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(FUZZ)}, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 1
    assert "Timeout" in done.stderr and "in call" in done.stderr


def judged(gpu, cpu, call="tf.f(t0)", **more):
    wrong = runpy.run_path(str(FUZZ / "fuzz_ops.py"))["wrong"]
    case = {"function": "f", "mode": "eager", "tensors": [], "call": call}
    return wrong(case, {"usable": True, "cpu": cpu, **gpu, **more})


def floats(*values):
    return {"value": [["float32", [len(values)], list(values)]]}


REFUSED = {"error": "InvalidArgumentError", "base": "", "op_error": True, "message": ""}


def test_values_of_a_gpu_are_the_cpus():
    nan = float("nan")
    assert judged(floats(1.0, nan, 1e6), floats(1.0, nan, 1e6 + 1)) is None
    assert judged(floats(1e6, 2.0), floats(1e6, 3.0)) is None, "a millionth of the greatest"
    assert "another value" in judged(floats(1.0, 2.0), floats(1.0, 2.1))
    assert "another value" in judged(floats(1.0), floats(nan))
    assert "another result" in judged(floats(1.0), floats(1.0, 2.0))
    assert "2 results" in judged({"value": floats(1.0)["value"] * 2}, floats(1.0))


def test_integers_of_no_integer_may_differ():
    one, two = ({"value": [["int32", [1], [x]]]} for x in (1.0, 2.0))
    assert "another value" in judged(one, two)
    assert judged(one, two, call="tf.cast(nan, tf.int32)") is None


def test_either_processor_may_refuse():
    assert judged(REFUSED, floats(1.0)) is None
    assert judged(floats(1.0), REFUSED) is None
    assert "cannot be used" in judged(REFUSED, REFUSED, usable=False)
    another = {"error": "IndexError", "base": "IndexError", "op_error": False, "message": ""}
    assert "IndexError" in judged(another, REFUSED)
