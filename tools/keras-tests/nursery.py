"""A process that has Keras on Tandem loaded, and forks one child for every run of pytest.

Loading Keras takes longer than most files of tests. Nothing has computed yet when a child is forked, and no thread of
Tandem runs, so a child begins as a fresh process would. Reads one JSON object a line from its input: `arguments` of
pytest, `environment`, `folder` to run in, `output` (a file) and `seconds`. Answers with the child's exit status,
negative for a signal, or null when it was ended for taking longer.

With KERAS_TEST_FRESH set, children load Keras themselves: a GPU's driver, and threads that packages start, do not
live through a fork.
"""

import gc
import importlib
import json
import os
import pathlib
import signal
import sys
import time

# The first puts Tandem in TensorFlow's place.
LOADED = ("keras_on_tandem", "keras.src.testing", "jax", "pandas", "scipy.signal", "pytest", "pytest_timeout")


FRESH = bool(os.environ.get("KERAS_TEST_FRESH"))


def load():
    for name in LOADED:
        importlib.import_module(name)


def child(order):
    """Runs pytest and never returns."""
    os.setsid()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    status = 70
    try:
        if FRESH:
            load()
        import pytest

        status = int(pytest.main(order["arguments"]))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def wait(pid, seconds):
    """The exit status, or None after so many seconds; nothing of the child's group is left."""
    deadline = time.monotonic() + seconds
    while (done := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if done[0] == 0:
        os.waitpid(pid, 0)
        return None
    return os.waitstatus_to_exitcode(done[1])


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    if not FRESH:
        load()
    threads = len(list(pathlib.Path("/proc/self/task").iterdir()))
    if threads != 1:
        sys.exit(f"nursery: loading Keras started {threads - 1} threads, which a forked child would not have")
    # Collections in a child, which Keras's tests and pytest ask for all the time, need not go through what is loaded.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            child(order)
        answers.write(json.dumps(wait(pid, order["seconds"])) + "\n")


main()
