"""pytest plugin: puts Tandem in TensorFlow's place, runs one part of a file, and writes what became of each test.

A line of $KERAS_TEST_REPORT is [test, outcome, message]; the outcome "started" stands alone when the process died in
that test. The first line has the outcome "collected" and the names of the part's tests. $KERAS_TEST_PART says which
tests are the part ("number count"), and the file $KERAS_TEST_DONE lists those that need not run again.
"""

import json
import os
import pathlib

import tandem

tandem.install_as_tensorflow()

_seen = set()


def _name(nodeid):
    return nodeid.split("::", 1)[-1]


def _write(test, outcome, message=""):
    with open(os.environ["KERAS_TEST_REPORT"], "a") as report:
        report.write(json.dumps([test, outcome, message]) + "\n")


def pytest_collection_modifyitems(config, items):
    number, count = map(int, os.environ["KERAS_TEST_PART"].split())
    part = items[number::count]
    _write("", "collected", [_name(item.nodeid) for item in part])
    done = set(json.loads(pathlib.Path(os.environ["KERAS_TEST_DONE"]).read_text()))
    chosen = [item for item in part if _name(item.nodeid) not in done]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def pytest_runtest_logstart(nodeid, location):
    _write(_name(nodeid), "started")


def pytest_runtest_logreport(report):
    """The worst of a test's phases is its outcome: a later line replaces an earlier one."""
    if report.outcome == "passed" and (report.when != "call" or report.nodeid in _seen):
        return
    _seen.add(report.nodeid)
    message = ""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash else str(report.longrepr)[-400:]
    _write(_name(report.nodeid), report.outcome, message)
