"""A short run of the fuzzer of calls (tests/fuzz/fuzz_ops.py), and that it sees what it is for."""

import pathlib
import subprocess
import sys

import pytest
from conftest import PACKAGE, environment

FUZZER = pathlib.Path(__file__).parents[1] / "fuzz/fuzz_ops.py"
sys.path.insert(0, str(FUZZER.parent))

import fuzz_ops  # noqa: E402


def test_a_slice_of_calls():
    run = subprocess.run(
        [sys.executable, str(FUZZER), "--seed", "15", "--calls", "2000"],
        env={**environment(), "TANDEM_PACKAGE": str(PACKAGE)}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("fuzz_ops: 2000 calls, 0 findings\n"), run.stdout


# A call that is as wrong as can be, and what is said of it.
BAD = {
    "crash": ("__import__('os').kill(__import__('os').getpid(), 11)", "crash (SIGSEGV)"),
    "end": ("__import__('os')._exit(3)", "the process ended with status 3"),
    "class": ("{}['a']", "KeyError: 'a'"),
    "strange class": ("1 // 0", "ZeroDivisionError: integer division or modulo by zero"),
    "value": ("tf.constant(1) + 1", None),
    "error": ("tf.ones([2]) + tf.ones([3])", None),
}


@pytest.mark.parametrize("what", BAD)
def test_what_the_fuzzer_says(what):
    call, said = BAD[what]
    cases = [{"number": i, "function": "f", "mode": "eager", "tensors": [], "call": c}
             for i, c in enumerate((call, "tf.constant(2)"))]  # fmt: skip
    outcomes = []
    fuzz_ops.Run(sys.executable, "tandem", cases, lambda case, outcome: outcomes.append((case, outcome))).all()
    assert fuzz_ops.wrong(*outcomes[0]) == said
    assert outcomes[1][1] == {"value": [["int32", [], [2.0]]]}  # the next one runs


@pytest.mark.parametrize("mode", ["traced", "dynamic", "map", "backward"])
def test_a_mode_that_differs_is_seen(mode):
    """What is traced is held against the eager call: values, dtypes, shapes, and whether there is an error."""
    calls = {
        "t0 + 1.0": None,
        "t0 + (1.0 if tf.executing_eagerly() else 2.0)": "another value",
        "t0[: 1 if tf.executing_eagerly() else 2]": "another result",
        "tf.cast(t0, tf.float32 if tf.executing_eagerly() else tf.float64)": "another result",
        "t0 if tf.executing_eagerly() else tf.ones([2]) + tf.ones([3])": "value there",
        "tf.ones([2]) + tf.ones([3]) if tf.executing_eagerly() else t0": "value here",
    }
    cases = [{"number": i, "function": "f", "mode": mode, "tensors": ["tf.ones([2])"], "call": c} for i, c in enumerate(calls)]
    reasons = []
    fuzz_ops.Run(sys.executable, "tandem", cases, lambda case, outcome: reasons.append(fuzz_ops.wrong(case, outcome))).all()
    for reason, said in zip(reasons, calls.values(), strict=True):
        assert reason is None if said is None else said in reason, reason


def test_calls_are_those_of_their_seed():
    first, second = (fuzz_ops.Generator(7, ["eager", "map"]) for _ in range(2))
    assert [first.case(i) for i in range(50)] == [second.case(i) for i in (*range(50),)]
    assert first.case(13) == second.case(13)
    assert len(first) > 1000


def case_of(function, call, mode="eager"):
    return {"number": 0, "function": function, "mode": mode, "tensors": [], "call": call}


NAN = float("nan")
# A function, a call, what the GPU and the CPU gave, and whether that is a finding.
ON_BOTH = [
    ("signal.rfft", "tf.signal.rfft([inf, 1.0])", [NAN, 0.0], [NAN, NAN], False),
    ("signal.rfft", "tf.signal.rfft([3.0, 1.0])", [4.0, 0.0], [NAN, NAN], True),
    ("raw_ops.Svd", "tf.raw_ops.Svd(input=tf.eye(2))", [1.0, -1.0], [-1.0, 1.0], False),
    ("raw_ops.Add", "tf.raw_ops.Add(x=nan, y=1.0)", [NAN, 0.0], [NAN, NAN], True),
    ("reduce_prod", "tf.reduce_prod(t0)", [float("inf"), NAN], [float("inf"), 0.0], True),
]


@pytest.mark.parametrize(("function", "call", "here", "there", "found"), ON_BOTH)
def test_what_a_gpu_may_give(function, call, here, there, found):
    outcome = {"value": [["float32", [2], here]], "cpu": {"value": [["float32", [2], there]]}}
    assert bool(fuzz_ops.other_than_cpu(case_of(function, call), outcome)) == found


def test_gradients_of_products_that_overflow():
    outcome = {"value": [["float32", [2], [NAN, 0.0]]], "cpu": {"value": [["float32", [2], [float("inf"), 0.0]]]}}
    assert fuzz_ops.other_than_cpu(case_of("reduce_prod", "tf.reduce_prod(t0)", "gradient"), outcome) is None


def test_the_sign_of_a_nan_in_a_text():
    def given(text):
        return {"value": [["string", [1], [text.hex()]]]}

    case = case_of("strings.as_string", "tf.strings.as_string(t0)")
    assert fuzz_ops.other_than_cpu(case, {**given(b"nan"), "cpu": given(b"-nan")}) is None
    assert fuzz_ops.other_than_cpu(case, {**given(b"inf"), "cpu": given(b"-inf")})


@pytest.mark.parametrize("call", ["[[1, 2] for _ in range(3)]", "['a', 'z' * 300]", "[2**3]"])
def test_what_python_counts_is_left(call):
    """A range of 2**63 rounds, or a text of as many letters, says nothing of a library."""
    tree = fuzz_ops.ast.parse(call, mode="eval")
    assert any(fuzz_ops.counts_in_python(part) for part in fuzz_ops.ast.walk(tree))


@pytest.mark.parametrize(
    ("call", "said"),
    [("np.zeros([2**40])", None), ("None.ref()", None), ("tf.zeros([2]).numbers", "AttributeError: 'tandem.EagerTensor' object")],
)
def test_errors_of_the_call_itself(call, said):
    outcomes = []
    fuzz_ops.Run(sys.executable, "tandem", [case_of("f", call)], lambda case, outcome: outcomes.append((case, outcome))).all()
    found = fuzz_ops.wrong(*outcomes[0])
    assert found is None if said is None else found.startswith(said), outcomes


def test_what_ends_a_process_is_shown():
    call = "__import__('os').write(2, b'no memory') and __import__('os').abort()"
    outcomes = []
    fuzz_ops.Run(sys.executable, "tandem", [case_of("f", call)], lambda _, outcome: outcomes.append(outcome)).all()
    assert outcomes[0]["stacks"].startswith("no memory")
