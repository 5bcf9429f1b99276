"""tensorflow.python.ops.math_ops: conversions and divisions of TensorFlow 1."""

import functools

from tandem import _core, _namespaces
from tandem.inside.util.dispatch import add_dispatch_support
from tandem.inside.util.tf_export import tf_export


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


@tf_export("__operators__.add", v1=[])
@add_dispatch_support
def _add_dispatch(x, y, name=None):
    """The operator +: numbers are added, strings joined."""
    for value in (x, y):  # an object that is no tensor and makes none is not added by an operator of its own
        if not isinstance(value, (_core.Tensor, _core.VariableBase)) and not hasattr(type(value), "_tf_components"):
            _core.convert_to_tensor(value)
    return _namespaces.get("math.add")(x, y, name=name)


@tf_export("__operators__.eq", v1=["__operators__.eq"])
@add_dispatch_support
def tensor_equals(self, other):
    """The operator ==, element by element."""
    return False if other is None else _namespaces.get("math.equal")(self, other)


@tf_export("__operators__.ne", v1=["__operators__.ne"])
@add_dispatch_support
def tensor_not_equals(self, other):
    """The operator !=, element by element."""
    return True if other is None else _namespaces.get("math.not_equal")(self, other)
