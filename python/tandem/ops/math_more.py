"""The rest of tf.math and of the top namespace, made of ops."""

import collections
import math

from tandem import _core
from tandem._core import Tensor, as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import float32, int32
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.graph import session_graph
from tandem.framework.indexed_slices import IndexedSlices
from tandem.ops.check import assert_less, assert_non_negative, assert_positive, axis_of, with_rank
from tandem.ops.sizes import as_int32, of_one_dtype


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """The sum of tensors of one shape."""
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError("inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape.")
    return execute("AddN", [convert_to_tensor(x) for x in inputs])


def scalar_mul(scalar, x, name=None):
    """A tensor or slices of one, multiplied by a number."""
    scalar = convert_to_tensor(scalar, x.dtype if hasattr(x, "dtype") else None)
    if scalar.shape.rank != 0:
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {scalar.shape}.")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(scalar * x.values, x.indices, x.dense_shape)
    return scalar * convert_to_tensor(x)


def erfcinv(x, name=None):
    """The inverse of 1 - erf(x)."""
    x = convert_to_tensor(x)
    return -execute("Ndtri", 0.5 * x) * math.sqrt(0.5)


def _steps(x):
    flat = execute("Reshape", convert_to_tensor(x), [-1])
    return flat[1:], flat[:-1]


def is_non_decreasing(x, name=None):
    """Whether no element is smaller than the one before it."""
    later, earlier = _steps(x)
    return execute("All", execute("GreaterEqual", later, earlier))


def is_strictly_increasing(x, name=None):
    """Whether every element is larger than the one before it."""
    later, earlier = _steps(x)
    return execute("All", execute("Greater", later, earlier))


def lbeta(x, name=None):
    """Logarithm of the Beta function along the last dimension."""
    x = convert_to_tensor(x)
    total = execute("Sum", x, axis=[-1])
    logs = execute("Sum", execute("Lgamma", x), axis=[-1])
    return logs - execute("Lgamma", total)


def polyval(coeffs, x, name=None):
    """A polynomial's value; the first coefficient is that of the highest power."""
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = convert_to_tensor(x)
    if not coeffs:
        return execute("ZerosLike", x)
    value = convert_to_tensor(coeffs[0], None, x.dtype)
    for coefficient in coeffs[1:]:
        value = convert_to_tensor(coefficient, None, x.dtype) + value * x
    return value


def _counts(segment_ids, num_segments, sums):
    """How many elements each segment has, to divide sums by."""
    dtype = sums.dtype
    ones = execute("Cast", execute("OnesLike", convert_to_tensor(segment_ids)), dtype=dtype)
    counts = execute("UnsortedSegmentSum", ones, segment_ids, num_segments)
    counts = execute("Maximum", counts, convert_to_tensor(1, dtype))
    inner = execute("OnesLike", execute("Shape", sums)[1:])
    return execute("Reshape", counts, execute("ConcatV2", [execute("Shape", counts), inner], axis=0))


def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    """Means of the elements of each segment."""
    data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    sums = execute("UnsortedSegmentSum", data, ids, num_segments)
    return sums / _counts(ids, num_segments, sums)


def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """Sums of each segment over the root of its size."""
    data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    sums = execute("UnsortedSegmentSum", data, ids, num_segments)
    return sums / execute("Sqrt", _counts(ids, num_segments, sums))


def _approx(operand, k, axis, sign):
    operand = with_rank(operand, 1)
    rank = operand.shape.rank
    axis = axis_of(axis, operand)
    last = axis == rank - 1
    order = [i for i in range(rank) if i != axis] + [axis]
    moved = operand if last else execute("Transpose", operand, perm=order)
    values, indices = execute("TopKV2", moved if sign > 0 else -moved, k)
    values = values if sign > 0 else -values
    if last:
        return values, indices
    back = [order.index(i) for i in range(rank)]
    return execute("Transpose", values, perm=back), execute("Transpose", indices, perm=back)


def approx_max_k(
    operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1, aggregate_to_topk=True,
    name=None,
):  # fmt: skip
    """The k largest elements; exact, whatever recall is asked for."""
    return _approx(operand, k, reduction_dimension, 1)


def approx_min_k(
    operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1, aggregate_to_topk=True,
    name=None,
):  # fmt: skip
    """The k smallest elements; exact, whatever recall is asked for."""
    return _approx(operand, k, reduction_dimension, -1)


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=int32, name=None):
    """The bin of each value; values outside go to the ends."""
    values = convert_to_tensor(values)
    low, high = (convert_to_tensor(v, values.dtype) for v in value_range)
    scaled = execute("Cast", (values - low) / (high - low), dtype=float32)
    nbins = as_int32(nbins, "nbins")
    assert_positive(nbins, "nbins must be > 0.")
    count = execute("Cast", nbins, dtype=float32)
    # Clipped before they are integers: most floats are larger than any.
    bins = execute("ClipByValue", execute("Floor", scaled * count), 0.0, count - 1.0)
    return execute("Cast", bins, dtype=as_dtype(dtype))


def unravel_index(indices, dims, name=None):
    """Coordinates of flat positions."""
    indices, dims = of_one_dtype(indices, dims)
    with_rank(indices, 0, 1)
    assert_positive(with_rank(dims, 1, 1), "Input dims must be positive.")
    assert_non_negative(indices, "index is out of bound as with dims.")
    assert_less(indices, execute("Prod", dims), "index is out of bound as with dims.")
    sizes = execute("Cumprod", dims, axis=0, exclusive=True, reverse=True)
    flat = execute("Reshape", indices, [1, -1])
    found = execute("FloorMod", execute("FloorDiv", flat, sizes[:, None]), dims[:, None])
    return execute("Reshape", found, [-1]) if indices.shape.rank == 0 else found


def dynamic_stitch(indices, data, name=None):
    """The rows of several tensors at the places that their indices say; later ones win."""
    indices, data = list(indices), list(data)
    if len(indices) != len(data):
        raise ValueError(f"dynamic_stitch: 'data' has {len(data)} tensors, 'indices' {len(indices)}; give one for each.")
    if not indices:
        raise ValueError("dynamic_stitch: 'indices' must have one tensor at least.")
    flat = [execute("Reshape", as_int32(i, "indices"), [-1]) for i in indices]
    places = execute("ConcatV2", flat, axis=0) if len(flat) > 1 else flat[0]
    rows = []
    for index, value in zip(indices, data):
        index, value = convert_to_tensor(index), convert_to_tensor(value)
        if not value.shape[: index.shape.rank].is_compatible_with(index.shape):
            raise InvalidArgumentError(
                None, None, f"dynamic_stitch: data of shape {value.shape} does not start with indices' {index.shape}."
            )
        inner = value.shape.as_list()[index.shape.rank :]
        if None in inner:
            inner = execute("Shape", value)[index.shape.rank :]
            rows.append(execute("Reshape", value, execute("ConcatV2", [[-1], inner], axis=0)))
        else:
            rows.append(execute("Reshape", value, [-1, *inner]))
    rows = execute("ConcatV2", rows, axis=0) if len(rows) > 1 else rows[0]
    assert_non_negative(places, "dynamic_stitch: indices must not be negative.")
    count = execute("Maximum", execute("Max", places), -1) + 1  # of no indices: none
    shape = execute("ConcatV2", [execute("Reshape", count, [1]), execute("Shape", rows)[1:]], axis=0)
    base = execute("Fill", shape, convert_to_tensor("" if rows.dtype.name == "string" else 0, rows.dtype))
    result = execute("TensorScatterUpdate", base, places[:, None], rows)
    known = _core.static_value(places)
    if result._symbolic and known is not None and result.shape.rank is not None:
        result.set_shape([int(known.max(initial=-1)) + 1, *result.shape.as_list()[1:]])
    return result


def parallel_stack(values, name="parallel_stack"):
    """The same as tf.stack along a new first axis."""
    return execute("Pack", list(values), axis=0)


def identity_n(input, name=None):
    """The same tensors."""
    return [execute("Identity", x) for x in input]


PaddingsAndCrops = collections.namedtuple("PaddingsAndCrops", ["paddings", "crops"])


def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """Paddings that make sizes divisible by blocks, and the crops that undo them."""
    given, blocks = as_int32(input_shape, "input_shape"), as_int32(block_shape, "block_shape")
    for shape in (given.shape, blocks.shape):
        if shape.rank not in (1, None):
            raise ValueError(f"Shape {shape} must have rank 1")
    if blocks.shape.rank is None or blocks.shape[0] is None:
        raise ValueError(f"Shape {blocks.shape} is not fully defined")
    many = blocks.shape[0]
    if many == 0:
        given = given[:0]
    if not given.shape.is_compatible_with(blocks.shape):
        raise ValueError(f"Shapes {given.shape} and {blocks.shape} are incompatible")
    base = [[0, 0]] * many if base_paddings is None else base_paddings
    base = execute("Reshape", as_int32(base, "base_paddings"), [-1, 2])
    if given._symbolic or blocks._symbolic or base._symbolic:
        given, base = given[:many], base[:many]
        assert_positive(blocks, "block_shape must be positive.")
        before, after = base[:, 0], base[:, 1]
        extra = -(given + before + after) % blocks
        both = [before, after + extra], [execute("ZerosLike", extra), extra]
        return tuple(execute("Pack", pair, axis=1) for pair in both)
    sizes, blocks, base = (x.numpy().tolist() for x in (given, blocks, base))
    paddings, crops = [], []
    if min(blocks, default=1) < 1:
        raise ValueError(f"block_shape must be positive, got {blocks}.")
    for size, block, (before, after) in zip(sizes, blocks, base):
        extra = -(size + before + after) % block
        paddings.append([before, after + extra])
        crops.append([0, extra])
    return tuple(execute("Reshape", as_int32(pairs, "paddings"), [-1, 2]) for pairs in (paddings, crops))


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """Levenshtein's distance of sequences given as sparse tensors."""
    for given, what in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not hasattr(given, "dense_shape"):
            raise TypeError(f"{what} must be a SparseTensor, not {type(given).__name__}.")

    def parts(sparse):
        values = sparse.values
        if values.dtype.name == "string":  # equal strings have equal hashes
            values = execute("StringToHashBucketFast", values, num_buckets=2**62)
        return sparse.indices, values, sparse.dense_shape

    return execute("EditDistance", *parts(hypothesis), *parts(truth), normalize=bool(normalize))


def timestamp(name=None):
    """Seconds since 1970."""
    import time

    return convert_to_tensor(time.time(), "float64")


def group(*inputs, **kwargs):
    """Ops with effects run in program order in Tandem: there is nothing to wait for, but in the graph of a session."""
    if session_graph() is not None:
        from tandem.graph_mode import ops

        return ops.group(*inputs, **kwargs)
    return None


def no_op(name=None):
    """Nothing; in the graph of a session, an operation that does nothing."""
    if session_graph() is not None:
        from tandem.graph_mode import ops

        return ops.no_op(name)
    return None


def tuple_(tensors, control_inputs=None, name=None):
    """The same tensors, all of them computed."""
    if session_graph() is not None:
        from tandem.graph_mode import ops

        return ops.tuple_of(tensors, control_inputs)
    return [execute("Identity", t) if isinstance(t, Tensor) else t for t in tensors]


def zero_fraction(value, name=None):
    """The part of elements that are zero."""
    value = convert_to_tensor(value)
    zeros = execute("Equal", value, convert_to_tensor(0, value.dtype))
    return execute("Mean", execute("Cast", zeros, dtype=float32))


def is_symbolic_tensor(tensor):
    """Whether the tensor stands for a value of a function that is being traced."""
    return bool(getattr(tensor, "_symbolic", False))
