"""Counts results by folder, compares them with what passes on TensorFlow, and prints both.

A folder has too few passes below WANTED; a regression is a failure that is not in the list of known ones.
"""

import collections
import datetime
import json

import expectations

WANTED = 0.97


class Count:
    def __init__(self):
        self.passed = self.expected = self.apart_passed = self.apart_expected = 0

    def add(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def share(self):
        return self.passed / self.expected if self.expected else 1.0

    def line(self, title):
        apart = f"{self.apart_passed:6} of {self.apart_expected:5}" if self.apart_expected else f"{'-':>6}"
        return f"{title:<24}{self.passed:7} of {self.expected:6}{self.share:10.2%}   {apart}"


def judge(path, results, expected):
    """(Count of one file, {test: message} of what failed and is counted)."""
    count = Count()
    count.expected, count.apart_expected = expected.passes - expected.apart, expected.apart
    ours = {test: r for test, r in results.items() if test not in expected.others}
    passed = [test for test, r in ours.items() if r[0] == "passed"]
    apart = sum(expectations.is_apart(f"{path}::{test}") for test in passed)
    count.passed = min(len(passed) - apart, count.expected)
    count.apart_passed = min(apart, expected.apart)
    failures = {
        f"{path}::{test}": message
        for test, (outcome, message) in ours.items()
        if outcome != "passed" and not expectations.is_apart(f"{path}::{test}")
    }
    if len(ours) < expected.passes:
        failures[f"{path}::{expected.passes - len(ours)} tests that were not found"] = ""
    return count, failures


def by_folder(tensorflow, results):
    """({folder: Count}, Count of all, {failed test: message})."""
    folders, failures, in_all = collections.defaultdict(Count), {}, Count()
    for path, expected in tensorflow.items():
        count, failed = judge(path, results.get(path, {}), expected)
        folders[expectations.folder_of(path)].add(count)
        in_all.add(count)
        failures.update(failed)
    return folders, in_all, failures


def keep_facts(tensorflow, results, command, machine, carried):
    """Writes the counts of a whole run to docs/facts/keras-tests.json, which tools/check-pages puts into the pages.
    `carried` are the files of tests in the wheel: those that nobody ran on TensorFlow are named, too."""
    folders, in_all, _ = by_folder(tensorflow, results)
    rows = [
        dict(folder=name, passed=c.passed, of=c.expected, apart_passed=c.apart_passed, apart=c.apart_expected)
        for name, c in [*sorted(folders.items()), ("in all", in_all)]
    ]
    facts = {
        "command": command,
        "date": datetime.date.today().isoformat(),
        "with": expectations.VERSIONS,
        "machine": machine,
        "rows": rows,
        "without": without_baseline(tensorflow, carried),
    }
    expectations.FACTS.write_text(json.dumps(facts, indent=1) + "\n")


def without_baseline(tensorflow, carried):
    """What tests/keras/tensorflow.txt does not have: folders of which it has nothing, and single files of the others."""
    has = {expectations.folder_of(path) for path in tensorflow}
    missing = [(expectations.folder_of(path), path) for path in carried if path not in tensorflow]
    return sorted({path if folder in has else folder for folder, path in missing})


def report(tensorflow, results, known, broken, messages):
    """Prints failures and the table; whether all is well."""
    folders, all_of_them, failures = by_folder(tensorflow, results)
    passed = {f"{path}::{t}" for path, tests in results.items() for t, (outcome, _) in tests.items() if outcome == "passed"}
    new, low = sorted(set(failures) - known), sorted(f for f, count in folders.items() if count.share < WANTED)

    print()
    for part, output in sorted(broken.items()):
        print(f"FAILED {part} could not be collected:\n{output}")
    for test in new:
        print(f"FAILED {test}" + (f"\n    {failures[test]}" if messages else ""))
    for test in sorted(known & passed):
        print(f"passes now, take it from the list (--shrink): {test}")
    print(f"\n{'folder':<24}{'passed':>7} {'on TensorFlow':>9}{'share':>7}   sparse, ragged")
    for folder, count in sorted(folders.items()):
        print(count.line(folder))
    print(all_of_them.line("in all"))
    for folder in low:
        print(f"FAILED {folder}: less than {WANTED:.0%} of what passes on TensorFlow")
    print(f"{len(new)} new failures, {len(set(failures) & known)} known, {len(broken)} files that could not be collected")
    return not (new or low or broken)
