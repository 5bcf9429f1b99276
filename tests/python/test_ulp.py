"""Elementwise functions are at most twice as far from the true values as TensorFlow's, and as they were before."""

import re
import subprocess
import sys

import pytest

import tandem as tf
from conftest import PACKAGE, ROOT, has_real_gpu
from ulp_cases import OURS_ALONE, OURS_ALONE_IN_DOUBLE, beyond, measure, most_allowed, names, stored

# Ops by the names of ulp_cases, where these are not the op's in another spelling.
OPS = {
    "abs": "ComplexAbs",
    "add": "AddV2",
    "divide": "RealDiv",
    "divide_no_nan": "DivNoNan",
    "erfcinv": "Ndtri",
    "floordiv": "FloorDiv",
    "floormod": "FloorMod",
    "gelu, approximate": "Gelu",
    "log_sigmoid": "Softplus",
    "multiply": "Mul",
    "multiply_no_nan": "MulNoNan",
    "subtract": "Sub",
    "truncatediv": "TruncateDiv",
    "truncatemod": "TruncateMod",
}
# Elementwise ops that are not measured, and why.
NOT_MEASURED = {
    "the result is an operand, a part of one, or a number beside it: nothing is rounded": """
        Abs Ceil ClipByValue Complex Conj Floor Imag Maximum Minimum Neg NextAfter Real Relu Relu6 Rint Round SelectV2
        Sign""",
    "truth values, bits, whole numbers and text": """
        Add BitwiseAnd BitwiseOr BitwiseXor Equal Greater GreaterEqual Invert IsFinite IsInf IsNan LeftShift Less
        LessEqual LogicalAnd LogicalNot LogicalOr NotEqual PopulationCount RightShift""",
    "gradients: tests/ops compares them with references in double, on every device": """
        EluGrad GeluGrad IgammaGradA LeakyReluGrad ReciprocalGrad Relu6Grad ReluGrad RsqrtGrad SeluGrad SigmoidGrad
        SiluGrad SoftplusGrad SoftsignGrad SqrtGrad TanhGrad""",
}


def elementwise_ops():
    """{name: its dtypes in words} of the ops that the CPU computes element by element, from the op table."""
    command = PACKAGE.parent / "bin/tandem"
    lines = subprocess.run([command, "ops"], capture_output=True, text=True, check=True).stdout.splitlines()
    every = [line.split()[0] for line in lines[:-1]]
    text = subprocess.run([command, "ops", *every], capture_output=True, text=True, check=True).stdout
    found = {}
    for part in re.split(r"^(?=\w)", text, flags=re.M)[1:]:
        name = part.split("(")[0]
        if f"  kernel: cpu.elementwise.{name}\n" in part:
            found[name] = re.search(r"^  T: (.*)$", part, re.M)[1]
    return found


def op_of(name):
    return OPS.get(name) or "".join(word.capitalize() for word in name.split("_"))


def test_every_elementwise_op_is_measured_or_has_a_reason_not_to_be():
    real = {op_of(name) for name in names() if not name.startswith("complex ")}
    of_complex = {op_of(name.removeprefix("complex ")) for name in names() if name.startswith("complex ")}
    other = {op for ops in NOT_MEASURED.values() for op in ops.split()}
    ops = elementwise_ops()
    missing = []
    for op, dtypes in ops.items():
        words = set(dtypes.split(", "))
        if words & {"numbers", "real numbers", "floats", "float32", "any"} and op not in real | other:
            missing.append(op)
        if words & {"numbers", "complex", "any"} and op not in of_complex | other:
            missing.append(f"complex {op}")
    assert not missing
    assert not (real | of_complex | other) - ops.keys(), "no elementwise ops"


def test_facts_are_up_to_date():
    assert list(stored()) == names()
    assert (OURS_ALONE | OURS_ALONE_IN_DOUBLE) <= set(names())


def test_the_table_of_the_page_is_that_of_the_facts():
    program = "import make_ulp_reference; print(*make_ulp_reference.table(), sep='\\n')"
    folder = ROOT / "tools/reference"
    command = [sys.executable, "-c", program]
    table = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert table in (ROOT / "docs/precision.md").read_text(), "run: tools/reference/make_ulp_reference.py --ours"


def test_an_error_is_seen_also_where_tensorflow_is_far_off():
    """Of a function of our own, and of one that calls glibc's vector functions."""
    facts = stored()
    for name, kind, least in (("erfinv", "small", 1), ("elu", "small", 4)):
        theirs, ours = facts[name]["float32"][kind]
        assert theirs > 1e6
        assert most_allowed(name, "float32", kind, theirs, ours) == max(least, 2 * ours)
        errors = {dtype: {k: pair[1] for k, pair in ranges.items()} for dtype, ranges in facts[name].items()}
        assert beyond(name, errors) == []
        errors["float32"][kind] = 2 * ours + least
        assert len(beyond(name, errors)) == 1
        del errors["float32"]
        assert beyond(name, errors) == [f"{name} of float32: was not measured"]


@pytest.mark.parametrize("name", names())
def test_error(name):
    with tf.device("CPU:0"):
        assert not beyond(name, measure(tf, name, quick=True))


@pytest.mark.parametrize("name", names())
def test_error_on_a_gpu(name):
    if not has_real_gpu():
        pytest.skip("emulated GPUs compute with the CPU's functions")
    with tf.device("GPU:0"):
        assert not beyond(name, measure(tf, name, quick=True), gpu=True)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_absolute_values_of_what_is_no_number(dtype):
    inf, nan = float("inf"), float("nan")
    parts = [(inf, nan), (nan, -inf), (-inf, 1.0), (nan, 1.0), (1.0, nan), (0.0, -0.0)]
    sizes = tf.abs(tf.constant([complex(*p) for p in parts], dtype)).numpy()
    assert [str(x) for x in sizes] == ["inf", "inf", "inf", "nan", "nan", "0.0"]
