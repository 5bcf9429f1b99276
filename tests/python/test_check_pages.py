"""What tools/check-pages says of pages that claim what nothing shows."""

import copy
import importlib.machinery
import importlib.util
import json

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def check():
    loader = importlib.machinery.SourceFileLoader("check_pages", str(ROOT / "tools/check-pages"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name",
    [
        "tests/python/test_guide.py",
        "tests/python/test_guide.py::test_page",
        "tests/emulated/run/copy_test.cc::Copies.BetweenGpusInOneStep",
        "tests/cpu/run/placement_test.cc::CopyPolicy.ExplicitRefuses",
        "tools/gpu/check ulp",
        "make test-keras",
    ],
)
def test_proofs_that_are_there(check, name):
    assert check.PROOF.match(name)
    assert check.what_is_not_there(name) is None


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("tests/python/test_nothing.py", "no such file"),
        ("tests/python/test_guide.py::test_pag", "the file has no such test"),
        ("tests/emulated/run/copy_test.cc::Copies.NoSuch", "the file has no such test"),
        ("make nothing", "make does not know it"),
    ],
)
def test_proofs_that_are_not(check, name, wrong):
    assert check.missing_proofs("page", f"It is so (`{name}`).") == [f"page: names {name}: {wrong}"]


def test_every_row_of_every_table_names_a_proof(check):
    table = "| | | shown by |\n|---|---|---|\n| a | b | `make test` |\n| c | d | `nothing` |\n"
    problems = check.missing_proofs("page", f"{table}\nAnd another:\n\n{table}")
    assert problems == ["page: names no proof: | c | d | `nothing` |"] * 2


def test_facts_of_fewer_folders_other_totals_and_other_failures(check):
    facts = json.loads(check.expectations.FACTS.read_text())
    assert check.stale_keras_facts(facts) == []
    other = copy.deepcopy(facts)
    gone = other["rows"].pop(0)["folder"]
    other["rows"][0]["of"] += 1
    other["rows"][1]["passed"] -= 1
    other["without"].append(gone)
    said = check.stale_keras_facts(other)
    assert len(said) == 4
    for part, problem in zip(("was not run", " tests, ", " failures, ", "was run"), said, strict=True):
        assert part in problem
