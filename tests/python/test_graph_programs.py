"""Scripts in the style of TensorFlow 1 (graph_programs) give TensorFlow's answers."""

import json
import os
import pathlib
import subprocess
import sys

import graph_programs
import pytest

import tandem

HERE = pathlib.Path(__file__).parent
WANTED = json.loads((HERE / "data/graphs.json").read_text())
graph_programs.load()


@pytest.fixture(scope="module")
def answers():
    """All programs, in a process that has TensorFlow 2's behaviour disabled."""
    done = subprocess.run(
        [sys.executable, "-m", "graph_programs", "tandem"], cwd=HERE, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(tandem.__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def differences(found, wanted, path=""):
    if isinstance(wanted, float) or isinstance(found, float):
        same = isinstance(found, (int, float)) and (
            found == pytest.approx(wanted, rel=2e-5, abs=2e-6) or (found != found and wanted != wanted))  # fmt: skip
        return [] if same else [f"{path}: {found} is not {wanted}"]
    if isinstance(wanted, list) and isinstance(found, list) and len(found) == len(wanted):
        return [line for i, (a, b) in enumerate(zip(found, wanted)) for line in differences(a, b, f"{path}[{i}]")]
    return [] if found == wanted else [f"{path}: {found!r} is not {wanted!r}"]


def test_all_programs_have_answers():
    assert sorted(graph_programs.PROGRAMS) == sorted(WANTED)


@pytest.mark.parametrize("name", WANTED)
def test_program(answers, name):
    assert not differences(answers[name], WANTED[name]), "\n".join(differences(answers[name], WANTED[name])[:5])
