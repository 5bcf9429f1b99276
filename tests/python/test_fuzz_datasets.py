"""A short run of the fuzzer of pipelines (tests/fuzz/fuzz_datasets.py), that it sees what it is for, and what it found."""

import os
import pathlib
import subprocess
import sys

import pytest
import tandem as tf
from conftest import PACKAGE, environment

FUZZER = pathlib.Path(__file__).parents[1] / "fuzz/fuzz_datasets.py"
sys.path.insert(0, str(FUZZER.parent))

import fuzz_datasets  # noqa: E402

Dataset = tf.data.Dataset
CALLS = "4000" if os.environ.get("TANDEM_LONG_TESTS") == "1" else "400"


def test_a_slice_of_pipelines():
    run = subprocess.run(
        [sys.executable, str(FUZZER), "--seed", "15", "--calls", CALLS],
        env={**environment(), "TANDEM_PACKAGE": str(PACKAGE)}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith(f"fuzz_datasets: {CALLS} calls, 0 findings\n"), run.stdout


def test_pipelines_are_those_of_their_seed():
    first, second = fuzz_datasets.Generator(7), fuzz_datasets.Generator(7)
    assert [first.case(i) for i in range(50)] == [second.case(i) for i in range(50)]


@pytest.mark.parametrize(
    "plain, parallel, said",
    [
        ("D.range(3)", "D.range(3).map(lambda x: x, num_parallel_calls=2)", None),
        ("D.range(3)", "D.range(3).map(lambda x: x + x // 2)", "parallel (here) and eager (there): element 2 is"),
        ("D.range(3)", "D.range(2)", "2 elements here, 3 there"),
        ("D.range(3)", "D.range(3).map(lambda x: 1 // x)", "3 elements there, here InvalidArgumentError"),
        ("D.range(3).map(lambda x: 1 // x)", "D.range(3).map(lambda x: 1 // x, num_parallel_calls=3)", None),
        ("D.range(3).map(lambda x: {}['k'])", "D.range(3)", "eager: KeyError: 'k'"),
        ("D.range(3).concatenate(5)", "D.range(3).concatenate(5)", None),
        ("__import__('os')._exit(3)", "D.range(3)", "the process ended with status 3"),
    ],
)  # fmt: skip
def test_what_the_fuzzer_says(plain, parallel, said):
    case = {"number": 0, "function": "f", "mode": "dataset", "tensors": [], "call": plain, "parallel": parallel}
    outcomes = []
    fuzz_datasets.children([case], lambda _, outcome: outcomes.append(outcome)).all()
    reason = fuzz_datasets.wrong(case, outcomes[0])
    assert reason is None if said is None else said in reason, reason


# ---- What it found


REFUSED = {
    "unique of datasets": lambda: Dataset.range(3).window(2).unique(),
    "concatenate of other kinds": lambda: Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]])).concatenate(
        Dataset.from_tensors(tf.constant([[1], [2]]))
    ),
    "concatenate of other ranks": lambda: Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]])).concatenate(
        Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]]))
    ),
    "unbatch of scalars": lambda: Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]])).enumerate().unbatch(),
    "rebatch of datasets": lambda: Dataset.range(6).window(2).rebatch(2),
    "a count of more than 64 bits": lambda: Dataset.range(3).take(10**30),
    "a step of more than 64 bits": lambda: Dataset.range(1, 9, 2**63),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(call):
    with pytest.raises((TypeError, ValueError)):
        call()


def test_rows_of_one_ragged_dimension_are_plain_tensors():
    rows = Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3]])).unbatch()
    assert rows.element_spec == tf.TensorSpec([], tf.int32)
    counted = tf.function(lambda: rows.reduce(0, lambda total, x: total + x))
    assert counted().numpy() == 6


@pytest.mark.parametrize("start, step", [(3, -2), (-(2**62), 2**61), (2**63 - 2, 1), (-(2**63) + 1, -1)])
def test_counters_down_and_far(start, step):
    limit = [start + i * step for i in range(4) if -(2**63) < start + i * step < 2**63 - 1]
    assert [int(x) for x in Dataset.counter(start, step).take(len(limit))] == limit
    assert Dataset.range(-(2**63), 2**63 - 1, 2**62).cardinality().numpy() == 4


def test_the_error_of_a_count_comes_once():
    short = Dataset.range(3).apply(tf.data.experimental.assert_cardinality(5))
    assert [int(x) for x in short.ignore_errors()] == [0, 1, 2]


def test_elements_too_long_for_every_bucket():
    buckets = Dataset.range(10).bucket_by_sequence_length(lambda x: x, [2, 5], [2, 2, 2], pad_to_bucket_boundary=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have length < max"):
        list(buckets)


def test_batches_of_nothing_in_parallel():
    nothing = Dataset.range(5).map(lambda x: None)
    assert list(nothing.batch(2, num_parallel_calls=2)) == list(nothing.batch(2)) == [None] * 3


# As TensorFlow 2.21 gives them.
OF_SEEDS = {
    -1: ([7, 4, 2, 6, 1, 5, 3, 0, 8], 3552347811),
    -7: ([3, 6, 4, 8, 2, 7, 1, 0, 5], 3189516649),
    2**33 + 1: ([7, 8, 5, 1, 3, 0, 4, 2, 6], 3568415791),
    10**30: ([8, 5, 7, 6, 3, 1, 0, 4, 2], 2889583149),
}


@pytest.mark.parametrize("seed", OF_SEEDS)
def test_seeds_of_every_size(run_python, seed):
    """In a process of its own: no other test has set a seed for all."""
    order, number = OF_SEEDS[seed]
    status, output, errors = run_python(
        f"""
        import tandem as tf

        D = tf.data.Dataset
        print([int(x) for x in D.range(9).shuffle(9, seed={seed})] == {order}, next(iter(D.random(seed={seed}))).numpy() == {number})
        """
    )
    assert status == 0, errors
    assert output.split() == ["True", "True"]


@pytest.mark.parametrize("seed", [-7, 2**33])
def test_a_seed_for_all_of_every_size(seed):
    """As one of [0, 2**31 - 1), where an op has a seed of its own, too."""
    drawn = []
    try:
        for given in (seed, seed % (2**31 - 1)):
            tf.random.set_seed(given)
            drawn.append([float(tf.random.uniform([], seed=3)), [int(x) for x in Dataset.range(9).shuffle(9, seed=3)]])
    finally:
        tf.random.set_seed(0)
    assert drawn[0] == drawn[1]
