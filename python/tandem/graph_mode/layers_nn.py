"""Forms of tf.compat.v1.nn that differ from today's in more than names."""

from tandem import _core
from tandem._namespaces import get


def fused_batch_norm(
    x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True, name=None,
    exponential_avg_factor=1.0,
):  # fmt: skip
    """(normalized, mean, variance): of the batch while training, otherwise with the given ones."""
    if is_training and exponential_avg_factor == 1.0 and (mean is not None or variance is not None):
        raise ValueError("Both `mean` and `variance` must be None when `is_training` is True and "
                         "`exponential_avg_factor` is 1.0.")
    if not is_training and (mean is None or variance is None):
        raise ValueError("Both `mean` and `variance` must be given when `is_training` is False.")
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"Unknown data_format: {data_format}.")
    x = _core.convert_to_tensor(x)
    channels_last = data_format == "NHWC"
    moved = x if channels_last else get("transpose")(x, [0, 2, 3, 1])
    normalize = get("nn.batch_normalization")
    if is_training:
        given = mean, variance
        mean, biased = get("nn.moments")(get("cast")(moved, "float32"), [0, 1, 2])
        count = get("cast")(get("size")(moved[..., 0]), "float32")
        variance = biased * (count / get("maximum")(count - 1.0, 1.0))
        out = normalize(moved, get("cast")(mean, x.dtype), get("cast")(biased, x.dtype), offset, scale, epsilon)
        if exponential_avg_factor != 1.0:
            mean = given[0] * (1 - exponential_avg_factor) + mean * exponential_avg_factor
            variance = given[1] * (1 - exponential_avg_factor) + variance * exponential_avg_factor
    else:
        mean, variance = _core.convert_to_tensor(mean), _core.convert_to_tensor(variance)
        out = normalize(moved, mean, variance, offset, scale, epsilon)
    return out if channels_last else get("transpose")(out, [0, 3, 1, 2]), mean, variance


def batch_norm_with_global_normalization(
    t=None, m=None, v=None, beta=None, gamma=None, variance_epsilon=None, scale_after_normalization=None, name=None,
    input=None, mean=None, variance=None,
):  # fmt: skip
    t, m, v = (a if a is not None else b for a, b in ((t, input), (m, mean), (v, variance)))
    return get("nn.batch_normalization")(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon)


def depthwise_conv2d_native(input, filter, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), name=None):
    return get("nn.depthwise_conv2d")(input, filter, strides, padding, data_format=data_format, dilations=dilations[1:3])


def max_pool_with_argmax_v1(
    input, ksize, strides, padding, data_format="NHWC", Targmax=None, name=None, output_dtype=None,  # noqa: N803
    include_batch_in_index=False,
):  # fmt: skip
    return get("nn.max_pool_with_argmax")(input, ksize, strides, padding, data_format,
                                          output_dtype or Targmax or "int64", include_batch_in_index)  # fmt: skip


def dilation2d_v1(
    input, filter=None, strides=None, rates=None, padding=None, name=None, filters=None, dilations=None
):
    return get("nn.dilation2d")(input, filter if filters is None else filters, strides, padding, "NHWC",
                                rates if dilations is None else dilations)  # fmt: skip


def erosion2d(value, kernel, strides, rates, padding, name=None):
    return get("nn.erosion2d")(value, kernel, strides, padding, "NHWC", rates)


def _pulled_back(of, sizes, out_backprop):
    """The gradient of a linear function at zeros of this shape."""
    with get("GradientTape")() as tape:
        start = get("zeros")(sizes, _core.convert_to_tensor(out_backprop).dtype)
        tape.watch(start)
        value = of(start)
    return tape.gradient(value, start, output_gradients=out_backprop)


def depthwise_conv2d_native_backprop_input(
    input_sizes, filter, out_backprop, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), name=None
):
    return _pulled_back(lambda x: depthwise_conv2d_native(x, filter, strides, padding, data_format, dilations), input_sizes,
                        out_backprop)  # fmt: skip


def depthwise_conv2d_native_backprop_filter(
    input, filter_sizes, out_backprop, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), name=None
):
    return _pulled_back(lambda w: depthwise_conv2d_native(input, w, strides, padding, data_format, dilations), filter_sizes,
                        out_backprop)  # fmt: skip
