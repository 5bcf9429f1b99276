"""tensorflow.python.ops.array_ops: the helpers that are no public functions."""

import collections

from tandem import _namespaces
from tandem.graph_mode.ops import placeholder_with_default  # noqa: F401
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


def where(condition, x=None, y=None, name=None):
    """TensorFlow 1's: a vector of conditions chooses whole rows."""
    if x is None and y is None:
        return _namespaces.get("where")(condition, name=name)
    condition, x = convert_to_tensor(condition), convert_to_tensor(x)
    if condition.shape.rank == 1 and (x.shape.rank or 0) > 1:
        condition = _namespaces.get("reshape")(condition, [-1] + [1] * (x.shape.rank - 1))
    return _namespaces.get("where")(condition, x, y, name=name)


def setdiff1d(x, y, index_dtype="int32", name=None):
    """The values of x that are not in y, and where they are."""
    out, idx = _namespaces.get("raw_ops.ListDiff")(x=x, y=y, out_idx=index_dtype)
    return collections.namedtuple("ListDiff", ["out", "idx"])(out, idx)


listdiff = setdiff1d


def batch_gather(params, indices, name=None):
    indices = convert_to_tensor(indices)
    return _namespaces.get("gather")(params, indices, batch_dims=indices.shape.rank - 1, axis=indices.shape.rank - 1)


def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    block = [block_size] * 2 if block_shape is None else block_shape
    return _namespaces.get("space_to_batch")(input, block, paddings)


def batch_to_space(input, crops, block_size, name=None, block_shape=None):
    block = [block_size] * 2 if block_shape is None else block_shape
    return _namespaces.get("batch_to_space")(input, block, crops)


def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name=None, sizes=None):
    sizes = ksizes if sizes is None else sizes
    return _namespaces.get("image.extract_patches")(images, sizes, strides, rates, padding, name=name)


def guarantee_const(input, name=None):
    return _namespaces.get("identity")(input)
