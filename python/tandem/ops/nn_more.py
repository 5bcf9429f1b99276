"""The rest of tf.nn, made of ops."""

import math
import operator

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import int32, int64
from tandem.ops.check import axis_of, size_of, with_rank
from tandem.ops.math import lowest
from tandem.ops.ranks import by_rank, least_rank
from tandem.ops.nn import batch_normalization, conv2d, conv2d_transpose
from tandem.ops.sizes import as_int32


def crelu(features, axis=-1, name=None):
    """The positive part beside the negative part."""
    x = convert_to_tensor(features)
    return execute("Relu", execute("ConcatV2", [x, -x], axis=axis))


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """Negative logarithm of the Poisson likelihood, from the logarithm of the mean."""
    log_input = convert_to_tensor(log_input)
    targets = convert_to_tensor(targets, log_input.dtype)
    loss = execute("Exp", log_input) - log_input * targets
    if not compute_full_loss:
        return loss
    stirling = targets * execute("Log", targets) - targets + 0.5 * execute("Log", 2 * math.pi * targets)
    zero, one = execute("ZerosLike", targets), execute("OnesLike", targets)
    inside = execute("LogicalAnd", targets >= zero, targets <= one)
    return loss + execute("SelectV2", inside, zero, stirling)


def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None):
    """Cross entropy of independent classes, with a weight for positive labels."""
    logits = convert_to_tensor(logits)
    labels = convert_to_tensor(labels, logits.dtype)
    weight = 1 + (convert_to_tensor(pos_weight, logits.dtype) - 1) * labels
    tail = execute("Log1p", execute("Exp", -execute("Abs", logits))) + execute("Relu", -logits)
    return (1 - labels) * logits + weight * tail


def sufficient_statistics(x, axes, shift=None, keepdims=False, name=None):
    """Count, sum and sum of squares, after a shift."""
    x = convert_to_tensor(x)
    if x.shape.rank is None:
        return by_rank(lambda known: sufficient_statistics(known, axes, shift, keepdims), x, least_rank(axes))
    axes = list(dict.fromkeys(axis_of(a, x) for a in (axes if isinstance(axes, (list, tuple)) else [axes])))
    sizes = [x.shape[a] for a in axes]
    if None in sizes:
        shape = execute("GatherV2", execute("Shape", x), axes)
        count = execute("Cast", execute("Prod", shape), dtype=x.dtype)
    else:
        count = convert_to_tensor(math.prod(sizes) * (1 if x.dtype.is_integer else 1.0), x.dtype)
    moved = x if shift is None else x - convert_to_tensor(shift, x.dtype)
    sums = execute("Sum", moved, axis=axes, keepdims=keepdims)
    squares = execute("Sum", execute("Square", moved), axis=axes, keepdims=keepdims)
    return count, sums, squares, None if shift is None else convert_to_tensor(shift, x.dtype)


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """Mean and variance from what sufficient_statistics gives."""
    divisor = execute("Reciprocal", counts)
    shifted = mean_ss * divisor
    mean = shifted if shift is None else shifted + shift
    return mean, variance_ss * divisor - execute("Square", shifted)


def weighted_moments(x, axes, frequency_weights, keepdims=False, name=None):
    """Mean and variance of weighted elements."""
    x = convert_to_tensor(x)
    weights = convert_to_tensor(frequency_weights, x.dtype)
    wide = execute("BroadcastTo", weights, execute("BroadcastArgs", execute("Shape", x), execute("Shape", weights)))
    total = execute("Sum", wide, axis=axes, keepdims=True)
    mean = execute("Sum", x * wide, axis=axes, keepdims=True) / total
    variance = execute("Sum", wide * execute("SquaredDifference", x, mean), axis=axes, keepdims=True) / total
    if keepdims:
        return mean, variance
    axes = list(axes) if isinstance(axes, (list, tuple)) else [axes]
    return execute("Squeeze", mean, axis=axes), execute("Squeeze", variance, axis=axes)


def batch_norm_with_global_normalization(
    input, mean, variance, beta, gamma, variance_epsilon, scale_after_normalization, name=None
):
    """Batch normalisation; without the scale where that is asked for."""
    return batch_normalization(input, mean, variance, beta, gamma if scale_after_normalization else None,
                               variance_epsilon)  # fmt: skip


def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    """Every value over a power of the squares of the channels near it."""
    radius = operator.index(depth_radius)
    radius = max(min(radius, 2**31 - 1), -1)  # what is beyond is refused
    return _core.functions.local_response_normalization(
        convert_to_tensor(input), radius, float(bias), float(alpha), float(beta)
    )


def atrous_conv2d(value, filters, rate, padding, name=None):
    """Convolution with holes."""
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"`padding` must be one of 'SAME' or 'VALID'. Received: padding={padding}")
    return conv2d(value, filters, strides=1, padding=padding, dilations=rate)


def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """The transposed convolution with holes."""
    if rate == 1:
        return conv2d_transpose(value, filters, output_shape, strides=1, padding=padding)
    # Holes in the filter are zeros between its rows and columns.
    filters = convert_to_tensor(filters)
    height, width, *rest = filters.shape.as_list()
    wide = execute("Reshape", filters, [height, 1, width, 1, *rest])
    wide = execute("Pad", wide, [[0, 0], [0, rate - 1], [0, 0], [0, rate - 1], [0, 0], [0, 0]])
    wide = execute("Reshape", wide, [height * rate, width * rate, *rest])
    wide = wide[: (height - 1) * rate + 1, : (width - 1) * rate + 1]
    return conv2d_transpose(value, wide, output_shape, strides=1, padding=padding)


def max_pool_with_argmax(
    input, ksize, strides, padding, data_format="NHWC", output_dtype=int64, include_batch_in_index=False, name=None
):
    """The largest value of each window, and its flat position in the image."""
    if data_format != "NHWC":
        raise ValueError("`data_format` values other than 'NHWC' are not yet supported. "
                         f"Received: data_format={data_format}")  # fmt: skip
    ksize, strides = (list(v) if isinstance(v, (list, tuple)) else [v] for v in (ksize, strides))
    return execute(
        "MaxPoolWithArgmax", convert_to_tensor(input), ksize=ksize, strides=strides, padding=padding,
        argmax_type=as_dtype(output_dtype), include_batch_in_index=bool(include_batch_in_index),
    )  # fmt: skip


def isotonic_regression(inputs, decreasing=True, axis=-1):
    """The nearest monotone sequence in the sense of squares, and the segment of each element."""
    x = convert_to_tensor(inputs)
    if x.shape.rank is None:
        return by_rank(lambda known: isotonic_regression(known, decreasing, axis), x, 1 if axis == -1 else least_rank([axis]))
    kind = x.dtype
    if not kind.is_floating:
        kind = as_dtype("float64" if kind.size > 2 else "float32")
    wide = as_dtype("float64" if kind.size == 8 else "float32")
    x = execute("Cast", x, dtype=wide) if x.dtype is not wide else x
    rank = x.shape.rank
    order = list(range(rank))
    order.append(order.pop(axis_of(axis, x)))
    moved = order != list(range(rank))
    x = execute("Transpose", x, perm=order) if moved else x
    fitted, segments = execute("IsotonicRegression", x if decreasing else -x)
    fitted = fitted if decreasing else -fitted
    if moved:
        back = [order.index(i) for i in range(rank)]
        fitted, segments = (execute("Transpose", part, perm=back) for part in (fitted, segments))
    return (execute("Cast", fitted, dtype=kind) if kind is not wide else fitted), segments


def embedding_lookup_sparse(
    params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None, allow_fast_lookup=False
):
    """Rows of a table, combined for each row of ids."""
    from tandem.ops.nn import embedding_lookup

    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    if hasattr(sp_ids, "row_splits"):
        ids, rows = sp_ids.values, sp_ids.value_rowids()
        count = execute("Max", rows) + 1
    else:
        ids, rows, count = sp_ids.values, sp_ids.indices[:, 0], sp_ids.dense_shape[0]
    found = embedding_lookup(params, ids, max_norm=max_norm)
    if sp_weights is None:
        weights = execute("OnesLike", execute("Cast", ids, dtype=found.dtype))
    else:
        weights = execute("Cast", sp_weights.values, dtype=found.dtype)
    sums = execute("UnsortedSegmentSum", found * weights[:, None], rows, count)
    if combiner == "sum":
        return sums
    scale = weights if combiner == "mean" else execute("Square", weights)
    total = execute("UnsortedSegmentSum", scale, rows, count)
    if combiner == "sqrtn":
        total = execute("Sqrt", total)
    return execute("DivNoNan", sums, total[:, None])


def safe_embedding_lookup_sparse(
    embedding_weights, sparse_ids, sparse_weights=None, combiner="mean", default_id=None, max_norm=None, name=None,
    allow_fast_lookup=False,
):  # fmt: skip
    """As embedding_lookup_sparse, without ids that are negative and weights that are not positive. Rows without ids are
    that of `default_id`, or zeros; all dimensions but the last one of the ids are the result's."""
    from tandem.framework import sparse
    from tandem.ops.nn import embedding_lookup

    if hasattr(sparse_ids, "row_splits"):
        sparse_ids = sparse_ids.to_sparse()
        sparse_weights = None if sparse_weights is None else sparse_weights.to_sparse()
    outer, static = sparse_ids.dense_shape[:-1], sparse_ids.shape
    rows = execute("Reshape", execute("Prod", outer), [1])
    sizes = execute("ConcatV2", [rows, sparse_ids.dense_shape[-1:]], axis=0)
    ids = sparse.reshape(sparse_ids, sizes)
    weights = None if sparse_weights is None else sparse.reshape(sparse_weights, sizes)
    kept = execute("GreaterEqual", ids.values, 0)
    if weights is not None and combiner != "sum":
        kept = execute("LogicalAnd", kept, execute("Greater", weights.values, 0))
    ids = sparse.retain(ids, kept)
    weights = None if weights is None else sparse.retain(weights, kept)
    found = embedding_lookup_sparse(embedding_weights, ids, weights, combiner, max_norm)
    if default_id is not None:
        there = execute("UnsortedSegmentSum", execute("OnesLike", ids.indices[:, 0]), ids.indices[:, 0], rows[0])
        row = embedding_lookup(embedding_weights, convert_to_tensor([default_id]), max_norm=max_norm)
        found = execute("SelectV2", there[:, None] > 0, found, row)
    result = execute("Reshape", found, execute("ConcatV2", [outer, execute("Shape", found, out_type="int64")[1:]], axis=0))
    if static.rank is not None:
        result.set_shape([*static.as_list()[:-1], *found.shape.as_list()[1:]])
    return result


def collapse_repeated(labels, seq_length, name=None):
    """Sequences in which equal neighbours are one, and their lengths."""
    from tandem.ops.array import sequence_mask

    labels = with_rank(labels, 2, 2)
    lengths = as_int32(seq_length, "seq_length")
    longest = size_of(labels, 1)
    changed = execute("ConcatV2", [execute("OnesLike", labels[:, :1]) > 0, labels[:, 1:] != labels[:, :-1]], axis=1)
    keep = execute("LogicalAnd", changed, sequence_mask(lengths, longest))
    counts = execute("Sum", execute("Cast", keep, dtype=int32), axis=[1])
    flat = execute("GatherNd", labels, execute("Where", keep))
    places = execute("Where", sequence_mask(counts, longest))
    out = execute("ScatterNd", execute("Cast", places, dtype=int32), flat, execute("Shape", labels))
    return out[:, : execute("Maximum", execute("Max", counts), 0)], counts


def _morph(value, filters, strides, padding, dilations, sign):
    from tandem.ops.image_measure import extract_patches

    x, filters = convert_to_tensor(value), convert_to_tensor(filters)
    height, width, channels = filters.shape.as_list()
    sizes = [1, height, width, 1]
    inside = extract_patches(execute("OnesLike", x), sizes, strides, dilations, padding)
    patches = extract_patches(x * sign, sizes, strides, dilations, padding)
    grid_shape = [-1, size_of(patches, 1), size_of(patches, 2), height * width, channels]
    inside, grid = (execute("Reshape", part, convert_sizes(grid_shape)) for part in (inside, patches))
    kernel = execute("ReverseV2", filters, axis=[0, 1]) if sign < 0 else filters
    sums = grid + execute("Reshape", kernel, [height * width, channels])
    sums = execute("SelectV2", execute("Equal", inside, convert_to_tensor(1, x.dtype)), sums, lowest(x.dtype))
    return execute("Max", sums, axis=[3]) * sign


def dilation2d(input, filters, strides, padding, data_format, dilations, name=None):
    """Grey-scale dilation: the largest sum with the filter."""
    return _morph(input, filters, strides, padding, dilations, 1)


def erosion2d(value, filters, strides, padding, data_format, dilations, name=None):
    """Grey-scale erosion: the smallest difference to the filter."""
    return _morph(value, filters, strides, padding, dilations, -1)
