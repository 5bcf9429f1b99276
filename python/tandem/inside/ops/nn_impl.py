"""tensorflow.python.ops.nn_impl."""

from tandem import _namespaces


def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None):
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")
    return _namespaces.get("nn.sigmoid_cross_entropy_with_logits")(labels, logits)


def depthwise_conv2d(input, filter, strides, padding, rate=None, name=None, data_format=None, dilations=None):
    rate = rate if dilations is None else dilations
    return _namespaces.get("nn.depthwise_conv2d")(input, filter, strides, padding, data_format, rate)


def separable_conv2d(
    input, depthwise_filter, pointwise_filter, strides, padding, rate=None, name=None, data_format=None, dilations=None
):
    rate = rate if dilations is None else dilations
    return _namespaces.get("nn.separable_conv2d")(
        input, depthwise_filter, pointwise_filter, strides, padding, data_format, rate
    )


def relu_layer(x, weights, biases, name=None):
    from tandem.inside.ops.nn_ops import xw_plus_b

    return _namespaces.get("nn.relu")(xw_plus_b(x, weights, biases))
