"""tf.nn, where TensorFlow's function is more than one op."""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import float32
from tandem.ops import array, random
from tandem.ops.check import assert_equal, axis_of, require_padding, with_rank

_f = _core.functions
_LAYOUTS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def _rank(n, data_format):
    if data_format is None and n not in _LAYOUTS:
        raise ValueError(f"One, two or three spatial dimensions are wanted, between batch and channels. Got {n}.")
    return _LAYOUTS[n] if data_format is None else data_format


def _ones(values):
    return [1] if values is None else values


def _padding(padding):
    """(padding, explicit paddings of every dimension) from a name or a list of pairs."""
    if isinstance(padding, str):
        return require_padding(padding, " Give a list of pairs for explicit padding."), []
    return "EXPLICIT", [int(v) for pair in padding for v in pair]


def _matched(input, filters, rank=None):
    """Tensors of one dtype, and of one rank where that of one of them is known."""
    input = convert_to_tensor(input)
    filters = convert_to_tensor(filters, input.dtype)
    rank = rank or (input.shape.rank if filters.shape.rank is None else filters.shape.rank)
    if rank is None:
        raise ValueError("The rank of the input or of the filters of a convolution must be known.")
    if input.shape.rank is None:
        input = with_rank(input, rank, rank)
    return input, filters if filters.shape.rank is not None else with_rank(filters, rank, rank)


def convolution(input, filters, strides=None, padding="VALID", data_format=None, dilations=None, name=None):
    """A convolution over one, two or three spatial dimensions."""
    input, filters = _matched(input, filters)
    extra = 0 if input.shape.rank is None else input.shape.rank - filters.shape.rank
    if extra > 0 and filters.shape.rank >= 3:  # several dimensions of batches
        return _over_batches(input, extra, lambda x: convolution(x, filters, strides, padding, data_format, dilations))
    return _f.convolution(
        input, filters, _ones(strides), *_padding(padding), _rank(filters.shape.rank - 2, data_format),
        _ones(dilations),
    )  # fmt: skip


def _over_batches(input, extra, compute):
    """compute() of the input with its first `extra` + 1 dimensions made one, which its result gets back."""
    shape = execute("Shape", input)
    flat = execute("Reshape", input, execute("ConcatV2", [convert_to_tensor([-1]), shape[extra + 1 :]], axis=0))
    flat.set_shape([None, *input.shape[extra + 1 :]])
    result = compute(flat)
    made = execute("Reshape", result, execute("ConcatV2", [shape[: extra + 1], execute("Shape", result)[1:]], axis=0))
    made.set_shape([*input.shape[: extra + 1], *result.shape[1:]])
    return made


def conv1d(input, filters, stride, padding, data_format="NWC", dilations=None, name=None):
    """A convolution over one spatial dimension."""
    return convolution(*_matched(input, filters, 3), stride, padding, data_format, dilations)


def conv2d(input, filters, strides, padding, data_format="NHWC", dilations=None, name=None):
    """A convolution over two spatial dimensions."""
    return convolution(*_matched(input, filters, 4), strides, padding, data_format, dilations)


def conv3d(input, filters, strides, padding, data_format="NDHWC", dilations=None, name=None):
    """A convolution over three spatial dimensions."""
    return convolution(*_matched(input, filters, 5), strides, padding, data_format, dilations)


def conv_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None, name=None
):
    """A transposed convolution: the gradient of a convolution with respect to its input."""
    input, filters = _matched(input, filters)
    if filters.shape.rank == 3:
        return _conv1d_transpose(input, filters, output_shape, strides, padding, data_format or "NWC", dilations)
    return _f.conv_transpose(
        input, filters, output_shape, strides, *_padding(padding), _rank(filters.shape.rank - 2, data_format),
        _ones(dilations),
    )  # fmt: skip


def _conv1d_transpose(input, filters, output_shape, strides, padding, data_format, dilations):
    """By a convolution over two dimensions, the first of which has size 1."""
    first = data_format.startswith("NC")
    axis = 2 if first else 1
    shape = convert_to_tensor(output_shape)
    one = convert_to_tensor([1], shape.dtype)
    wide = conv_transpose(
        execute("ExpandDims", input, axis=axis), execute("ExpandDims", filters, axis=0),
        execute("ConcatV2", [shape[:axis], one, shape[axis:]], axis=0), [1, _one(strides)],
        padding if isinstance(padding, str) else [*padding[:axis], [0, 0], *padding[axis:]],
        "NCHW" if first else "NHWC", [1, _one(dilations)],
    )  # fmt: skip
    return execute("Squeeze", wide, axis=axis)


def _one(values):
    """The number for the only spatial dimension."""
    values = _list(1 if values is None else values)
    return max(values) if len(values) == 3 else values[0]


def conv1d_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None, name=None
):
    """A transposed convolution over one spatial dimension."""
    return conv_transpose(*_matched(input, filters, 3), output_shape, strides, padding, data_format, dilations)


def conv2d_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format="NHWC", dilations=None, name=None
):
    """A transposed convolution over two spatial dimensions."""
    return conv_transpose(*_matched(input, filters, 4), output_shape, strides, padding, data_format, dilations)


def conv3d_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format="NDHWC", dilations=None, name=None
):
    """A transposed convolution over three spatial dimensions."""
    return conv_transpose(*_matched(input, filters, 5), output_shape, strides, padding, data_format, dilations)


def depthwise_conv2d(input, filter, strides, padding, data_format=None, dilations=None, name=None):
    """A convolution of each channel with filters of its own."""
    input = convert_to_tensor(input)
    return _f.depthwise_conv2d(
        input, convert_to_tensor(filter, input.dtype), strides, *_padding(padding), data_format or "NHWC",
        _ones(dilations),
    )  # fmt: skip


def separable_conv2d(
    input, depthwise_filter, pointwise_filter, strides, padding, data_format=None, dilations=None, name=None
):
    """A depthwise convolution followed by a 1x1 convolution."""
    input = convert_to_tensor(input)
    filters = (convert_to_tensor(f, input.dtype) for f in (depthwise_filter, pointwise_filter))
    return _f.separable_conv2d(input, *filters, strides, *_padding(padding), data_format or "NHWC", _ones(dilations))


def _pool(function, input, ksize, strides, padding, data_format, rank=None):
    input = convert_to_tensor(input)
    if input.shape.rank is None:
        if rank is None:
            raise ValueError("The rank of the input of a pooling must be known.")
        input = with_rank(input, rank, rank)
    return function(
        input, ksize, ksize if strides is None else strides, *_padding(padding),
        _rank(input.shape.rank - 2, data_format),
    )  # fmt: skip


def max_pool(input, ksize, strides, padding, data_format=None, name=None):
    """Maximum over windows of one, two or three spatial dimensions."""
    return _pool(_f.max_pool, input, ksize, strides, padding, data_format)


def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """Maximum over windows of one spatial dimension."""
    return _pool(_f.max_pool, input, ksize, strides, padding, data_format, 3)


def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """Maximum over windows of two spatial dimensions."""
    return _pool(_f.max_pool, input, ksize, strides, padding, data_format, 4)


def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Maximum over windows of three spatial dimensions."""
    return _pool(_f.max_pool, input, ksize, strides, padding, data_format, 5)


def avg_pool(input, ksize, strides, padding, data_format=None, name=None):
    """Average over windows of one, two or three spatial dimensions."""
    return _pool(_f.avg_pool, input, ksize, strides, padding, data_format)


def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """Average over windows of one spatial dimension."""
    return _pool(_f.avg_pool, input, ksize, strides, padding, data_format, 3)


def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """Average over windows of two spatial dimensions."""
    return _pool(_f.avg_pool, input, ksize, strides, padding, data_format, 4)


def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Average over windows of three spatial dimensions."""
    return _pool(_f.avg_pool, input, ksize, strides, padding, data_format, 5)


def pool(
    input, window_shape, pooling_type, strides=None, padding="VALID", data_format=None, dilations=None, name=None
):
    """Maximum ("MAX") or average ("AVG") over windows."""
    if dilations is not None and any(d != 1 for d in _list(dilations)):
        raise NotImplementedError("tf.nn.pool with dilations is not available in Tandem.")
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type must be 'MAX' or 'AVG', got {pooling_type!r}")
    n = len(_list(window_shape))
    return _pool(
        _f.max_pool if pooling_type == "MAX" else _f.avg_pool, input, window_shape,
        [1] * n if strides is None else strides, padding, data_format, n + 2,
    )  # fmt: skip


def _list(value):
    return [value] if isinstance(value, int) else list(value)


def dropout(x, rate, noise_shape=None, seed=None, name=None):
    """Sets elements to zero at random and scales the others up."""
    x = _for_dropout(x, rate)
    if _later(rate):
        shape = execute("Shape", x) if noise_shape is None else noise_shape
        return _dropped(x, rate, random.uniform(shape, dtype=x.dtype, seed=seed))
    return x if rate == 0 else _f.dropout(x, float(rate), noise_shape, -1 if seed is None else int(seed))


def stateless_dropout(x, rate, seed, rng_alg="auto_select", noise_shape=None, name=None):
    """Dropout that depends on the seed alone."""
    x = _for_dropout(x, rate)
    if not _later(rate) and (rate == 0 or _core.executing_eagerly()):
        return x if rate == 0 else _f.stateless_dropout(x, seed, float(rate), noise_shape)
    shape = execute("Shape", x) if noise_shape is None else noise_shape
    return _dropped(x, rate, random.stateless_uniform(shape, seed, dtype=x.dtype))


def _later(rate):
    """Whether only a run of the function knows the rate."""
    return isinstance(rate, (_core.Tensor, _core.VariableBase)) and not _core.executing_eagerly()


def _dropped(x, rate, uniform):
    """The elements whose number is at least the rate, scaled up."""
    rate = execute("Cast", rate, dtype=x.dtype)
    return execute("SelectV2", uniform >= rate, x * (1 / (1 - rate)), execute("ZerosLike", x))


def _for_dropout(x, rate):
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        raise ValueError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype!r}"
        )
    if not _later(rate) and not 0 <= rate < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    return x


def bias_add(value, bias, data_format=None, name=None):
    """Adds a vector over the channels."""
    layout = "NHWC" if data_format is None or not data_format.startswith("NC") else "NCHW"
    return execute("BiasAdd", value, bias, data_format=layout)


def moments(x, axes, shift=None, keepdims=False, name=None):
    """Mean and variance over axes."""
    x = convert_to_tensor(x)
    wide = execute("Cast", x, dtype=float32) if x.dtype == "float16" else x
    mean, variance = execute("Moments", wide, axis=axes, keepdims=keepdims)
    if wide is not x:
        mean, variance = (execute("Cast", v, dtype=x.dtype) for v in (mean, variance))
    return mean, variance


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """Normalises with given moments, then scales and shifts."""
    x = convert_to_tensor(x)
    factor = execute("Rsqrt", convert_to_tensor(variance) + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    return x * execute("Cast", factor, dtype=x.dtype) + execute("Cast", shift, dtype=x.dtype)


def embedding_lookup(params, ids, max_norm=None, name=None):
    """Rows of a table, chosen by ids."""
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise NotImplementedError("tf.nn.embedding_lookup of a partitioned table is not available in Tandem.")
        params = params[0]
    rows = array.gather(params, ids)
    if max_norm is None:
        return rows
    from tandem.ops.math import clip_by_norm

    ids = convert_to_tensor(ids)
    if ids.shape.rank is None or rows.shape.rank is None:
        # A row for each id: the norm is of what is in it.
        sizes = execute("Shape", rows)
        flat = execute("Reshape", rows, execute("ConcatV2", [[execute("Size", ids)], [-1]], axis=0))
        return execute("Reshape", clip_by_norm(flat, max_norm, axes=[1]), sizes)
    return clip_by_norm(rows, max_norm, axes=list(range(ids.shape.rank, rows.shape.rank)))


def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None):
    """Cross-entropy of sigmoid(logits) against probabilities, each by itself."""
    _need(labels, logits, "sigmoid_cross_entropy_with_logits")
    logits = convert_to_tensor(logits)
    labels = convert_to_tensor(labels, logits.dtype)
    if not labels.shape.is_compatible_with(logits.shape):
        raise ValueError(
            f"`logits` and `labels` must have the same shape, received ({logits.shape} vs {labels.shape})."
        )
    positive = execute("Relu", logits)
    magnitude = execute("Abs", logits)
    return positive - logits * labels + execute("Log1p", execute("Exp", -magnitude))


def _need(labels, logits, name):
    if labels is None or logits is None:
        raise ValueError(f"Both `labels` and `logits` must be provided to {name}.")


def softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None):
    """Cross-entropy of softmax(logits) against probabilities."""
    _need(labels, logits, "softmax_cross_entropy_with_logits")
    logits = convert_to_tensor(logits)
    labels = convert_to_tensor(labels)
    if labels.dtype is not logits.dtype:
        labels = execute("Cast", labels, dtype=logits.dtype)
    rank = logits.shape.rank
    if rank is None and axis != -1:
        from tandem.ops.ranks import by_rank, least_rank

        return by_rank(lambda known: softmax_cross_entropy_with_logits(labels, known, axis), logits, least_rank([axis]))
    if axis != -1 and axis != rank - 1:
        axis = axis_of(axis, logits)
        order = [i for i in range(rank) if i != axis] + [axis]
        labels, logits = (execute("Transpose", x, perm=order) for x in (labels, logits))
    if rank == 2:
        return execute("SoftmaxCrossEntropyWithLogits", logits, labels)[0]
    shape = execute("Shape", logits)
    flat = [execute("Reshape", x, array.concat([[-1], shape[-1:]], 0)) for x in (logits, labels)]
    return execute("Reshape", execute("SoftmaxCrossEntropyWithLogits", *flat)[0], shape[:-1])


def sparse_softmax_cross_entropy_with_logits(labels, logits, name=None):
    """Cross-entropy of softmax(logits) against class numbers."""
    _need(labels, logits, "sparse_softmax_cross_entropy_with_logits")
    labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
    if logits.shape.rank is not None and labels.shape.rank is not None and labels.shape.rank != logits.shape.rank - 1:
        raise ValueError(
            "`labels.shape.rank` must equal `logits.shape.rank - 1`. "
            f"Received: labels.shape={labels.shape} of rank {labels.shape.rank} and logits.shape={logits.shape} "
            f"of rank {logits.shape.rank}"
        )
    if logits.shape.rank is None or labels.shape.rank is None:
        assert_equal(execute("Rank", labels) + 1, execute("Rank", logits), "`labels` must have one dimension less than `logits`.")
    if logits.shape.rank == 2:
        return execute("SparseSoftmaxCrossEntropyWithLogits", logits, labels)[0]
    shape = execute("Shape", labels)
    flat = execute("Reshape", logits, array.concat([[-1], execute("Shape", logits)[-1:]], 0))
    loss = execute("SparseSoftmaxCrossEntropyWithLogits", flat, execute("Reshape", labels, [-1]))[0]
    return execute("Reshape", loss, shape)


def zero_fraction(value, name=None):
    """The part of the elements that are zero."""
    value = convert_to_tensor(value)
    zero = execute("Equal", value, convert_to_tensor(0, value.dtype))
    return execute("Mean", execute("Cast", zero, dtype=float32))
