"""Probes of sizes and limits that only a run of a function knows: right calls of public functions of which one argument
is a symbolic tensor, a number as a scalar, a list of numbers as a vector, or of which all tensors have unknown sizes.

A probe is "call | argument"; what it gave is the static shapes of the results, and their shapes and sums in a run.
tools/reference/make_size_reference.py stores TensorFlow's.
"""

import ast
import copy
import json
import pathlib
import re
import runpy

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
REFERENCE = FOLDER / "data/size_probes.json"
KNOWN = FOLDER / "data/size_probes_known.txt"
_CALLS = [FOLDER.parent / "fuzz/op_calls.txt", FOLDER / "size_calls.txt"]
_FUZZER = FOLDER.parent / "fuzz/fuzz_ops.py"
# What gives no tensors, reads files, or draws other numbers than TensorFlow does.
_LEFT_OUT = re.compile(r"tf\.(data|io\.(read|write|gfile|match)|keras|lookup|Variable|test|raw_ops)|while_loop|decode_proto")
_OTHER_VALUES = re.compile(r"random|dropout|shuffle|sampler|sample_|fractional|svd|eig|qr|glimpse|nce_loss|Generator|lstsq")


def fuzzer_inputs():
    return runpy.run_path(str(_FUZZER), run_name="inputs")["INPUTS"]


def probes():
    """Every probe as text: (probe, source of the function, values of its arguments)."""
    inputs, made = fuzzer_inputs(), {}
    for path in _CALLS:
        for text in path.read_text(encoding="utf-8").splitlines():
            if text and not text.startswith("#") and not _LEFT_OUT.search(text):
                for probe, source, given in _of_call(text, inputs):
                    made[probe] = source, given
    return made


def _of_call(text, inputs):
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.Call):
        return
    places = [(f"{i}", node) for i, node in enumerate(tree.args)]
    places += [(k.arg, k.value) for k in tree.keywords]
    for place, node in places:
        value = _number(node)
        if value is None:
            continue
        changed = copy.deepcopy(tree)
        new = ast.Name("given", ast.Load())
        if place.isdigit():
            changed.args[int(place)] = new
        else:
            next(k for k in changed.keywords if k.arg == place).value = new
        yield f"{text} | {place}", f"lambda given: {ast.unparse(changed)}", [("number", value)]
    used = [name for name in inputs if re.search(rf"\b{name}\b", text)]
    if used:
        yield f"{text} | sizes", f"lambda {', '.join(used)}: {text}", [("tensor", inputs[name]) for name in used]


def _number(node):
    """The value of a literal number or list of numbers, None of anything else."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    if isinstance(value, (bool, str, bytes, complex)) or value is None:
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.dtype.kind in "if" and array.size else None


def outcome(tf, source, given):
    """(static shapes, [(shape, sum), …]) of a probe, or the name of the error's class."""
    names = {"tf": tf, "np": np, "nan": float("nan"), "inf": float("inf")}
    try:
        values, specs = [], []
        for kind, value in given:
            value = tf.constant(value.astype("int32" if value.dtype.kind == "i" else "float32")) if kind == "number" else eval(value, dict(names))  # noqa: E501, S307
            values.append(value)
            rank = value.shape.rank
            specs.append(tf.TensorSpec([None] * rank if kind == "tensor" else value.shape, value.dtype))
        function = tf.function(eval(source, dict(names)), input_signature=specs, autograph=False)  # noqa: S307
        concrete = function.get_concrete_function()
        leaves = tf.nest.flatten(concrete.structured_outputs, expand_composites=True)
        static = [None if t.shape.rank is None else t.shape.as_list() for t in leaves if hasattr(t, "shape")]
        results = tf.nest.flatten(concrete(*values), expand_composites=True)
        return static, [_kept(tf, t) for t in results if hasattr(t, "shape")]
    except Exception as error:  # noqa: BLE001
        return type(error).__name__


def _kept(tf, tensor):
    array = np.asarray(tensor)
    if array.dtype.kind not in "ifub":
        return list(array.shape), None
    total = float(np.abs(np.nan_to_num(array.astype("float64"), nan=0.5, posinf=2.5, neginf=1.5)).sum())
    return list(array.shape), total


def difference(probe, wanted, found):
    """What is other than TensorFlow's, or None. Static shapes may say more than TensorFlow's, never less."""
    if isinstance(wanted, str):
        return None  # TensorFlow refuses it
    if isinstance(found, str):
        return None if found == "NotImplementedError" else found  # names that are absent are counted elsewhere
    if len(wanted[0]) != len(found[0]):
        return f"{len(found[0])} results"
    for theirs, ours, (real, _) in zip(wanted[0], found[0], wanted[1]):
        if theirs is not None and any(d not in (None, r) for d, r in zip(theirs, real)):
            continue  # TensorFlow's own run says otherwise
        if theirs is not None and (ours is None or len(ours) != len(theirs) or any(a is not None and a != b for a, b in zip(theirs, ours))):
            return f"static shape {ours}, wanted {theirs}"
    for (shape, total), (our_shape, our_total) in zip(wanted[1], found[1]):
        if list(shape) != list(our_shape) and "Generator" not in probe and "where" not in probe:
            return f"shape {our_shape}, wanted {shape}"
        if total is None or our_total is None or _OTHER_VALUES.search(probe):
            continue
        if abs(total - our_total) > 1e-4 + 2e-3 * abs(total):
            return f"sum {our_total:.6g}, wanted {total:.6g}"
    return None


def known():
    """The probes that are known to differ."""
    lines = KNOWN.read_text(encoding="utf-8").splitlines() if KNOWN.exists() else []
    return {line.partition("  # ")[0] for line in lines if line and not line.startswith("#")}


def reference():
    return json.loads(REFERENCE.read_text(encoding="utf-8"))
