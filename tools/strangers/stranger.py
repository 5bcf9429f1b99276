"""A pytest plugin: runs the tests that a list names, and writes what became of each, one line of JSON after the other.

Loaded in the suite's process, with Tandem or with TensorFlow. A line with "start" that no outcome follows is a test that
ended the process.
"""

import json
import os

import pytest

_IDS = os.environ.get("STRANGERS_IDS")  # a file with names of tests; none: all are only listed
_OUT = os.environ["STRANGERS_OUT"]


def _say(line):
    with open(_OUT, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def pytest_configure(config):
    try:
        from absl import flags

        flags.FLAGS.mark_as_parsed()
    except ImportError:
        pass


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session, config, items):
    if not _IDS:
        for item in items:
            _say({"id": item.nodeid})
        items[:] = []
        return
    with open(_IDS, encoding="utf-8") as file:
        wanted = set(file.read().split("\n"))
    items[:] = [item for item in items if item.nodeid in wanted]


def pytest_collectreport(report):
    if report.failed:
        _say({"broken": report.nodeid, "why": _last_line(report.longrepr)})


def pytest_runtest_logstart(nodeid, location):
    _say({"start": nodeid})


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        why = "" if report.passed else _last_line(report.longrepr)
        _say({"id": report.nodeid, "outcome": report.outcome, "why": why})


def _last_line(text):
    crash = getattr(text, "reprcrash", None)
    if crash is not None:
        return crash.message.strip().split("\n")[0][:300]
    lines = [line for line in str(text).strip().split("\n") if line.startswith("E ")] or str(text).strip().split("\n")
    return lines[-1][:300]
