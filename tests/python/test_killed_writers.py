"""Every writer of files is killed while it saves: what was saved before can be loaded, or the new save can."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT, environment

ROUNDS = 100 if os.environ.get("TANDEM_LONG_TESTS") == "1" else 5
WRITERS = [
    "keras", "weights", "sharded_weights", "h5", "model_checkpoint", "backup", "dataset", "cache", "snapshot", "saved_model",
    "checkpoint", "manager", "summary", "tensorboard", "csv", "records",
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
