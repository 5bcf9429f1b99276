"""Every writer of files is killed while it saves: what was saved before can be loaded, or the new save can."""

import os
import platform
import re
import subprocess
import sys

import pytest
from conftest import ROOT, environment

ROUNDS = 100 if os.environ.get("TANDEM_LONG_TESTS") == "1" else 5
WRITERS = [
    "keras", "weights", "sharded_weights", "h5", "model_checkpoint", "backup", "dataset", "cache", "snapshot", "saved_model",
    "checkpoint", "manager", "summary", "tensorboard", "csv", "records", "packed_records",
]  # fmt: skip


@pytest.fixture(scope="module")
def report():
    """What killed_writers.py prints. One process loads Keras for all writers."""
    program = ROOT / "tests/python/killed_writers.py"
    ran = subprocess.run([sys.executable, program, str(ROUNDS)], env=environment(), capture_output=True, text=True, check=False)
    print(ran.stdout)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("writer", WRITERS)
def test_kills_leave_what_can_be_loaded(report, writer):
    assert f"\n{writer}: {ROUNDS} kills, 0 unloadable" in report, report


def test_all_writers_are_killed(report):
    assert report.count(" kills, ") == len(WRITERS), report


@pytest.fixture(scope="module")
def report_of_calls():
    if ROUNDS != 100:
        pytest.skip("takes minutes: TANDEM_LONG_TESTS=1 runs it")
    if platform.machine() != "x86_64":
        pytest.skip("knows the numbers of the calls of x86-64 alone")
    program = ROOT / "tests/python/killed_writers.py"
    command = [sys.executable, program, "calls", "1000"]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if "[Errno 1] ptrace" in ran.stdout + ran.stderr:
        pytest.skip("ptrace is not allowed here")
    print(ran.stdout)
    return ran.stdout


@pytest.mark.parametrize("writer", WRITERS)
def test_a_kill_before_each_call_leaves_what_can_be_loaded(report_of_calls, writer):
    line = next((line for line in report_of_calls.splitlines() if line.startswith(f"{writer}: ")), "")
    assert re.fullmatch(rf"{writer}: [1-9]\d* kills at \d+ calls, 0 unloadable", line), report_of_calls
