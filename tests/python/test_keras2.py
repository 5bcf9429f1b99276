"""Keras 2, the package tf_keras, on Tandem: `TF_USE_LEGACY_KERAS=1`. Skipped where the package is not installed.

Everything runs in one process of its own, because a process has one tf.keras.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import PATHS

PROGRAM = pathlib.Path(__file__).with_name("keras2_program.py")


@pytest.mark.skipif(
    importlib.util.find_spec("tf_keras") is None,
    reason="tf_keras is not installed: pip install --no-deps tf-keras==2.21.0, and six, wrapt, requests, h5py",
)
def test_keras_2():
    env = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "PYTHONPATH": PATHS}
    run = [sys.executable, "-m", "tandem", "run", "--quiet", str(PROGRAM)]
    done = subprocess.run(run, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["fit", "operators", "saving", "recurrent", "mixed", "step", "preprocessing"]
