"""What the Python tests share. They run on the package that the build put under build/<preset>/python."""

import contextlib
import functools
import importlib.metadata
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = pathlib.Path(os.environ.get("TANDEM_PACKAGE", ROOT / "build/dev/python"))

if str(PACKAGE) not in sys.path:
    sys.path.insert(0, str(PACKAGE))

PATHS = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])


def heed_interrupts():
    """In a new process: Ctrl-C means what it means to a program in a terminal. Shells let their jobs ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# Shells let jobs in the background ignore Ctrl-C, and Python then installs no handler: the tests bring theirs.
if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def until(holds):
    """Whether it comes to hold: of a thread that was waited for the system may still know the name for a moment."""
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


def data_threads():
    """The workers of passes that there are now."""
    names = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            names.append((task / "comm").read_text())
    return [name for name in names if name.startswith("data-")]


def not_in_keras_314(why):
    """Skips a test of what Keras itself does from 3.15 on only."""
    older = importlib.metadata.version("keras").startswith("3.14.")
    return pytest.mark.skipif(older, reason=f"Keras 3.14 {why}")


@functools.cache
def has_real_gpu():
    """Whether this machine has a GPU that Tandem can use."""
    import tandem as tf

    devices = tf.config.list_physical_devices("GPU")
    return any("emulated" not in tf.config.experimental.get_device_details(d) for d in devices)


def environment(gpus=None):
    """Of a new process: how many GPUs it sees, the same number everywhere. One is the machine's own where there is
    one, else emulated. Several are emulated: a real one beside them would compute other bits. None: what is there."""
    made = {**os.environ, "PYTHONPATH": PATHS}
    if gpus == 1 and has_real_gpu():
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        made |= {"TANDEM_EMULATE_GPUS": "0", "CUDA_VISIBLE_DEVICES": first}
    elif gpus is not None:
        made |= {"TANDEM_EMULATE_GPUS": str(gpus), "TANDEM_CUDA": "0"}
        made.pop("CUDA_VISIBLE_DEVICES", None)  # it would hide these, too
    return made


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a process of its own and returns (status, stdout, stderr)."""

    def run(code, *, gpus=None, env=None, arguments=None):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(code))
        command = [sys.executable, *(arguments or []), str(script)]
        result = subprocess.run(
            command,
            env={**environment(gpus), **(env or {})},
            preexec_fn=heed_interrupts,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return result.returncode, result.stdout, result.stderr

    return run


@pytest.fixture
def tandem_run():
    """`tandem run` of a script in a process of its own; returns the finished process."""

    def run(script, *, gpus):
        return subprocess.run(
            [sys.executable, "-m", "tandem", "run", str(script)],
            env=environment(gpus),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run
