"""tensorflow.python.ops.array_ops: the helpers that are no public functions."""

from tandem import _namespaces
from tandem.ops.array import convert_to_tensor


def shape_internal(input, name=None, optimize=True, out_type=None):
    return _namespaces.get("shape")(input, out_type=out_type)


def size_internal(input, name=None, optimize=True, out_type=None):
    return _namespaces.get("size")(input, out_type=out_type)


def rank_internal(input, name=None, optimize=True):
    return _namespaces.get("rank")(input)


def convert_to_int_tensor(tensor, name, dtype="int32"):
    return _namespaces.get("cast")(convert_to_tensor(tensor), dtype)


def get_positive_axis(axis, ndims, axis_name="axis", ndims_name="ndims"):
    """The number of an axis from the front."""
    if not isinstance(axis, int):
        raise TypeError(f"{axis_name} must be an int; got {type(axis).__name__}")
    if ndims is None:
        if axis < 0:
            raise ValueError(f"{axis_name}={axis} may only be negative if {ndims_name} is statically known.")
        return axis
    if not -ndims <= axis < ndims:
        raise ValueError(f"{axis_name}={axis} out of bounds: expected {-ndims}<={axis_name}<{ndims}")
    return axis % ndims


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    return _namespaces.get("linalg.matrix_transpose")(a, name=name, conjugate=conjugate)
