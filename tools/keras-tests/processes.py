"""Runs the tests of one file, or a part of a large one, in a child process of its own.

A child writes each test's outcome as it goes (stand-ins/keras_on_tandem.py). One that dies, or sits in one test for too
long, is started again with the tests that have no outcome yet; all its children together have SECONDS_PER_PART. A test
that never got an outcome is a failure that says why. Both limits are for a machine that is free for the tests, and are
multiplied by `patience` on one that is not.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SECONDS_PER_TEST = 120
SECONDS_PER_PART = 900
TESTS_PER_PART = 400
OUT_OF_TIME = "out of time"


@dataclasses.dataclass(frozen=True)
class Part:
    """Tests number, number + count, number + 2 count, … of a file."""

    path: str
    number: int = 0
    count: int = 1

    def __str__(self):
        return self.path if self.count == 1 else f"{self.path} ({self.number + 1} of {self.count})"


def parts_of(path, tests):
    count = max(1, -(-tests // TESTS_PER_PART))
    return [Part(path, number, count) for number in range(count)]


def run_part(nursery, source, part, patience):
    """({test: (outcome, message)}, what the last child said where the part's tests could not even be collected)."""
    results, collected = {}, None
    deadline = time.monotonic() + SECONDS_PER_PART * patience
    while True:
        left = deadline - time.monotonic()
        done = [test for test, (outcome, _) in results.items() if outcome != "started"]
        lines, status, output = nursery.run(source / part.path, part, done, left, SECONDS_PER_TEST * patience)
        progress = False
        for test, outcome, message in lines:
            if outcome == "collected":
                collected = message
            else:
                results[test] = (outcome, message)
                progress = True
        started = [test for test, (outcome, _) in results.items() if outcome == "started"]
        for test in started:
            results[test] = ("failed", _why(status, output))
        if status is None or (collected is not None and not started and not progress):
            break
        if collected is None:
            return results, output
        if all(test in results for test in collected):
            break
    for test in collected or ():
        results.setdefault(test, ("failed", _why(status, output)))
    return results, output if collected is None else ""


def _why(status, output):
    if status is None:
        return f"{OUT_OF_TIME}: its file took too long"
    if "Timeout ++" in output:
        return f"{OUT_OF_TIME}: {output[-600:]}"
    return f"the process died (status {status}): {output[-600:]}"


class Nursery:
    """A process that has Keras loaded and forks children (nursery.py); one for each file that runs at a time."""

    def __init__(self, python, package):
        self._home = tempfile.TemporaryDirectory()
        environment = {
            **os.environ,
            "KERAS_BACKEND": "tensorflow",
            "KERAS_HOME": self._home.name,
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(
                [str(package), str(HERE / "stand-ins"), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
        }
        self._process = subprocess.Popen(
            [python, HERE / "nursery.py"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, path, part, done, seconds, seconds_per_test):
        """The lines of the child's report, its status (None: out of time) and the end of what it printed."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            report, skip, output, work = (folder / n for n in ("report", "done", "output", "work"))
            work.mkdir()
            report.touch()
            skip.write_text(json.dumps(done))
            # The timeout's thread ends a process that hangs in native code, which a signal's handler would wait for.
            # Other kinds of traceback parse the whole file anew for each failure.
            arguments = ["-q", "-p", "keras_on_tandem", "--tb=native", "--assert=plain"]
            arguments += ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]
            arguments += [f"--timeout={seconds_per_test}", "--timeout-method=thread"]
            order = {
                "arguments": [*arguments, "--rootdir", str(path.parent), str(path)],
                "environment": {
                    "KERAS_TEST_REPORT": str(report),
                    "KERAS_TEST_DONE": str(skip),
                    "KERAS_TEST_PART": f"{part.number} {part.count}",
                },
                "folder": str(work),
                "output": str(output),
                "seconds": max(seconds, 1),
            }
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError("the process that loads Keras has ended (output above)")
            printed = output.read_text(errors="replace")[-4000:]
            return [json.loads(line) for line in report.read_text().splitlines()], json.loads(answer), printed

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._home.cleanup()
