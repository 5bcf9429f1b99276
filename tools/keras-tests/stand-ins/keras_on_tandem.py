"""pytest plugin: puts Tandem in TensorFlow's place, and writes what became of each test to $KERAS_TEST_REPORT.

A line is [test, outcome, message]; the outcome "started" stands alone when the process died in that test.
"""

import json
import os

import tandem

tandem.install_as_tensorflow()

_report = open(os.environ["KERAS_TEST_REPORT"], "a", buffering=1)
_seen = set()


def _write(nodeid, outcome, message=""):
    _report.write(json.dumps([nodeid.split("::", 1)[-1], outcome, message]) + "\n")


def pytest_runtest_logstart(nodeid, location):
    _write(nodeid, "started")


def pytest_runtest_logreport(report):
    """The worst of a test's phases is its outcome: a later line replaces an earlier one."""
    if report.outcome == "passed" and (report.when != "call" or report.nodeid in _seen):
        return
    _seen.add(report.nodeid)
    message = ""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash else str(report.longrepr)[-400:]
    _write(report.nodeid, report.outcome, message)
