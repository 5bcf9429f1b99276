"""Expressions of public names, in the text files of this folder, whose values, dtypes and errors TensorFlow decides;
tools/reference/make_stored_reference.py stores its answers. In a line, statements stand before the expression, with
` ;; ` between them. Names: tf, np, raw (tf.raw_ops), tnp (tf.experimental.numpy) and the inputs made here.
"""

import pathlib

import numpy as np

_RANDOM = np.random.RandomState(11)
FOLDER = pathlib.Path(__file__).parent
INPUTS = {
    "A": _RANDOM.randn(3, 4).astype(np.float32),
    "B": _RANDOM.randn(4, 5).astype(np.float32),
    "S": (_RANDOM.randn(4, 4) + 4 * np.eye(4)).astype(np.float32),  # regular
    "P": (lambda m: m @ m.T + np.eye(4))(_RANDOM.randn(4, 4)).astype(np.float32),  # positive definite
    "I": _RANDOM.rand(2, 6, 7, 3).astype(np.float32),  # images
    "V": np.array([0.5, -1.5, 2.0, 3.5], np.float32),
    "N": np.array([3, 1, 2, 3, 0], np.int32),
}


def cases():
    """{file: its lines}."""
    return {
        path.stem: [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        for path in sorted(FOLDER.glob("*.txt"))
    }


def evaluate(line, tf):
    """["value", parts] or ["error", class]."""
    names = {"tf": tf, "np": np, "raw": tf.raw_ops, "tnp": tf.experimental.numpy, **INPUTS}
    *statements, expression = line.split(" ;; ")
    try:
        for statement in statements:
            exec(statement, names)  # noqa: S102
        return ["value", list(_parts(eval(expression, names), tf))]
    except Exception as error:  # noqa: BLE001
        return ["error", type(error).__name__, str(error)]


def _parts(value, tf):
    """What a value is made of, as lists of plain values."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield ["key", str(key)]
            yield from _parts(value[key], tf)
    elif isinstance(value, (list, tuple)):
        yield ["fields", list(value._fields)] if hasattr(value, "_fields") else ["length", len(value)]
        for part in value:
            yield from _parts(part, tf)
    elif isinstance(value, tf.SparseTensor):
        yield from _parts([value.indices, value.values, value.dense_shape], tf)
    elif isinstance(value, tf.RaggedTensor):
        yield from _parts([value.flat_values, list(value.nested_row_splits)], tf)
    elif isinstance(value, (tf.Tensor, tf.Variable, np.ndarray, np.generic)):
        yield _array(np.asarray(value))
    else:
        yield ["plain", value if isinstance(value, (int, float, str, bool, type(None))) else str(value)]


def _array(array):
    kind = str(array.dtype)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind in "OSU":
        return ["array", "string", list(array.shape), [v.decode("latin1") if isinstance(v, bytes) else v for v in array.reshape(-1).tolist()]]
    if array.dtype.kind not in "biuf":  # bfloat16
        array = array.astype(np.float32)
    flat = [float(f"{v:.7g}") if isinstance(v, float) else v for v in array.reshape(-1).tolist()]
    return ["array", kind, list(array.shape), flat]
