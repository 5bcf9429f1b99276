"""tf.sparse: sums, largest elements, products and softmax of sparse tensors, and rows combined by segment."""

from tandem._core import convert_to_tensor, execute
from tandem.framework import sparse_checks
from tandem.framework.dtypes import int64
from tandem.framework.sparse import SparseTensor, from_dense, to_dense
from tandem.framework.sparse_checks import positions
from tandem.ops import check
from tandem.ops.math import lowest
from tandem.ops.sizes import of_one_dtype


def _summed(sp_input):
    """The dense tensor, in which the values of equal indices add up."""
    sparse_checks.in_bounds(sp_input)
    return execute("ScatterNd", sp_input.indices, sp_input.values, sp_input.dense_shape)


def _largest(sp_input, axis, keepdims):
    """What has no element at all is zero."""
    sparse_checks.in_bounds(sp_input)
    least = lowest(sp_input.dtype)
    dense = execute("TensorScatterMax", execute("Fill", sp_input.dense_shape, least), sp_input.indices, sp_input.values)
    there = to_dense(sp_input.with_values(execute("OnesLike", sp_input.values)), validate_indices=False)
    found = execute("Max", there, axis=axis, keepdims=keepdims) > 0
    result = execute("Max", dense, axis=axis, keepdims=keepdims)
    return execute("SelectV2", found, result, execute("ZerosLike", result))


def _axes(axis):
    return axis if axis is None or isinstance(axis, (list, tuple)) else [axis]


def reduce_sum(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """Sums of elements over axes."""
    result = execute("Sum", _summed(sp_input), axis=_axes(axis), keepdims=bool(keepdims))
    return from_dense(result) if output_is_sparse else result


def reduce_max(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """The largest of the elements that are there, over axes."""
    result = _largest(sp_input, _axes(axis), bool(keepdims))
    return from_dense(result) if output_is_sparse else result


def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """The product of a sparse and a dense matrix."""
    if not isinstance(sp_a, SparseTensor):  # dense times sparse
        return execute("MatMul", convert_to_tensor(sp_a), _summed(b), adjoint_a=adjoint_a, adjoint_b=adjoint_b)
    b = check.with_rank(b, 2, 2)
    if adjoint_b:
        b = execute("Transpose", b, perm=[1, 0], conjugate=b.dtype.is_complex)
    # Its gradient is dense, as TensorFlow's: optimizers take slices for rows that are there once.
    b = execute("Reshape", b, execute("Shape", b))
    rows, columns = (1, 0) if adjoint_a else (0, 1)
    if sp_a.shape.rank not in (None, 2):
        sparse_checks.refuse(f"Tensor 'a_shape' must have 2 elements, got a sparse tensor of shape {sp_a.shape}.")
    sparse_checks.in_bounds(sp_a)
    sparse_checks.same_sizes(sp_a.dense_shape[columns : columns + 1], execute("Shape", b, out_type=int64)[:1],
                             "Cannot multiply A and B because inner dimension does not match. Did you forget a "
                             "transpose?")  # fmt: skip
    values = execute("Conj", sp_a.values) if adjoint_a and sp_a.dtype.is_complex else sp_a.values
    parts = execute("GatherV2", b, sp_a.indices[:, columns]) * values[:, None]
    return execute("UnsortedSegmentSum", parts, sp_a.indices[:, rows], sp_a.dense_shape[rows])


def softmax(sp_input, name=None):
    """Softmax along the last dimension over the elements that are there."""
    sparse_checks.in_bounds(sp_input)
    shape = execute("ConcatV2", [sp_input.dense_shape[:-1], convert_to_tensor([1], "int64")], axis=0)
    first = execute("ConcatV2", [sp_input.indices[:, :-1], execute("ZerosLike", sp_input.indices[:, :1])], axis=1)
    ids = positions(first, shape)
    count = execute("Prod", shape)
    top = execute("GatherV2", execute("UnsortedSegmentMax", sp_input.values, ids, count), ids)
    powers = execute("Exp", sp_input.values - top)
    sums = execute("GatherV2", execute("UnsortedSegmentSum", powers, ids, count), ids)
    return sp_input.with_values(powers / sums)


def _segments(data, indices, segment_ids, num_segments, combine):
    """Rows of data by segment, combined."""
    indices, ids = (check.with_rank(given, 1, 1) for given in (indices, segment_ids))
    sparse_checks.same_length(indices, ids, "segment_ids and indices should have same size.")
    check.assert_non_negative(ids, "segment ids must be >= 0.")
    check.assert_greater_equal(ids[1:], ids[:-1], "segment ids are not increasing.")
    rows = execute("GatherV2", convert_to_tensor(data), indices)
    if num_segments is None:
        num_segments = execute("Max", execute("ConcatV2", [ids + 1, convert_to_tensor([0], ids.dtype)], axis=0))
    ids, count = of_one_dtype(ids, num_segments)
    check.assert_less(ids, count, "segment ids must be < num_segments.")
    total = execute("UnsortedSegmentSum", rows, ids, count)
    if combine == "sum":
        return total
    ones = execute("OnesLike", execute("Cast", ids, dtype=total.dtype))
    many = execute("Maximum", execute("UnsortedSegmentSum", ones, ids, count), convert_to_tensor(1, total.dtype))
    many = execute("Sqrt", many) if combine == "sqrt_n" else many
    ones = execute("OnesLike", execute("Shape", total)[1:])
    return total / execute("Reshape", many, execute("ConcatV2", [execute("Shape", many), ones], axis=0))


def segment_sum(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """Sums of chosen rows of data by segment."""
    return _segments(data, indices, segment_ids, num_segments, "sum")


def segment_mean(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """Means of chosen rows of data by segment."""
    return _segments(data, indices, segment_ids, num_segments, "mean")


def segment_sqrt_n(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """Sums of chosen rows of data by segment, divided by the roots of their numbers."""
    return _segments(data, indices, segment_ids, num_segments, "sqrt_n")
