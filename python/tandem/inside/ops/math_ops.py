"""tensorflow.python.ops.math_ops: conversions and divisions of TensorFlow 1."""

import functools

from tandem import _namespaces


def _to(dtype, x, name=None):
    return _namespaces.get("cast")(x, dtype)


to_bfloat16 = functools.partial(_to, "bfloat16")
to_float, to_double = functools.partial(_to, "float32"), functools.partial(_to, "float64")
to_int32, to_int64 = functools.partial(_to, "int32"), functools.partial(_to, "int64")
to_complex64, to_complex128 = functools.partial(_to, "complex64"), functools.partial(_to, "complex128")


def div(x, y, name=None):
    """Python 2's division: integers are rounded down."""
    x = _namespaces.get("convert_to_tensor")(x)
    y = _namespaces.get("convert_to_tensor")(y, dtype=x.dtype)
    whole = x.dtype.is_integer
    return _namespaces.get("math.floordiv" if whole else "realdiv")(x, y)



def sparse_matmul(a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False, name=None):
    return _namespaces.get("matmul")(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


def reduced_shape(input_shape, axes):
    """The shape after a reduction that keeps its dimensions."""
    rank = len(input_shape)
    axes = {int(axis) % rank for axis in _namespaces.get("reshape")(axes, [-1]).numpy()}
    ones = _namespaces.get("ones_like")(input_shape)
    kept = _namespaces.get("constant")([axis not in axes for axis in range(rank)])
    return _namespaces.get("where")(kept, input_shape, ones)
