"""The Python examples run as they stand, on the CPU, on one GPU and on emulated ones."""

import pathlib

import pytest

EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("gpus", [0, 1, 2])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, gpus, tandem_run):
    done = tandem_run(example, gpus=gpus)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tandem:" in done.stderr  # the summary
