"""What the Python tests share. They run on the package that the build put under build/<preset>/python."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = pathlib.Path(os.environ.get("TANDEM_PACKAGE", ROOT / "build/dev/python"))

if str(PACKAGE) not in sys.path:
    sys.path.insert(0, str(PACKAGE))

PATHS = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])


def heed_interrupts():
    """In a new process: Ctrl-C means what it means to a program in a terminal. Shells let their jobs ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a process of its own and returns (status, stdout, stderr)."""

    def run(code, *, env=None, arguments=None):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(code))
        command = [sys.executable, *(arguments or []), str(script)]
        result = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": PATHS, **(env or {})},
            preexec_fn=heed_interrupts,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return result.returncode, result.stdout, result.stderr

    return run


@pytest.fixture
def tandem_run():
    """`tandem run` of a script in a process of its own; returns the finished process."""

    def run(script, *, gpus):
        # Several of one kind: a real GPU beside emulated ones computes other bits.
        alike = {"CUDA_VISIBLE_DEVICES": ""} if gpus > 1 else {}
        return subprocess.run(
            [sys.executable, "-m", "tandem", "run", str(script)],
            env={**os.environ, "PYTHONPATH": PATHS, "TANDEM_EMULATE_GPUS": str(gpus), **alike},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run
