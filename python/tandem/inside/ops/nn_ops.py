"""tensorflow.python.ops.nn_ops: TensorFlow 1's forms that are more than other names of arguments."""

from tandem import _core, _namespaces


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    if rate is None and keep_prob is None:
        raise ValueError("You must provide a rate to dropout.")
    if rate is not None and keep_prob is not None:
        raise ValueError("Cannot specify both 'rate' and 'keep_prob'.")
    rate = 1 - keep_prob if rate is None else rate
    if isinstance(rate, (_core.Tensor, _core.VariableBase)):
        return _dropped(_core.convert_to_tensor(x), _core.convert_to_tensor(rate), noise_shape, seed)
    return _namespaces.get("nn.dropout")(x, rate, noise_shape, seed, name)


def _dropped(x, rate, noise_shape, seed):
    """Dropout at a rate that is known when it is run; at zero all of x stays."""
    rate = _namespaces.get("cast")(rate, x.dtype)
    shape = _namespaces.get("shape")(x) if noise_shape is None else noise_shape
    kept = _namespaces.get("random.uniform")(shape, seed=seed, dtype=x.dtype) >= rate
    return _namespaces.get("where")(kept, x / (1 - rate), _namespaces.get("zeros_like")(x))


def softmax_cross_entropy_with_logits(labels=None, logits=None, dim=-1, name=None, axis=None):
    """No gradient goes into the labels."""
    labels = _namespaces.get("stop_gradient")(_both(labels, logits)[0])
    return _namespaces.get("nn.softmax_cross_entropy_with_logits")(labels, logits, dim if axis is None else axis)


def sparse_softmax_cross_entropy_with_logits(labels=None, logits=None, name=None):
    return _namespaces.get("nn.sparse_softmax_cross_entropy_with_logits")(*_both(labels, logits))


def _both(labels, logits):
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")
    return labels, logits


def xw_plus_b(x, weights, biases, name=None):
    return _namespaces.get("nn.bias_add")(_namespaces.get("matmul")(x, weights), biases)


def conv2d_backprop_input(
    input_sizes, filter=None, out_backprop=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format="NHWC",
    dilations=(1, 1, 1, 1), name=None, filters=None,
):  # fmt: skip
    padding, explicit = ("EXPLICIT", sum(map(list, padding), [])) if isinstance(padding, (list, tuple)) else (padding, [])
    return _namespaces.get("raw_ops.Conv2DBackpropInput")(
        input_sizes=input_sizes, filter=filter if filters is None else filters, out_backprop=out_backprop,
        strides=strides, padding=padding, explicit_paddings=explicit, data_format=data_format, dilations=list(dilations),
    )  # fmt: skip


def conv2d_backprop_filter(
    input, filter_sizes, out_backprop, strides, padding, use_cudnn_on_gpu=True, data_format="NHWC",
    dilations=(1, 1, 1, 1), name=None,
):  # fmt: skip
    padding, explicit = ("EXPLICIT", sum(map(list, padding), [])) if isinstance(padding, (list, tuple)) else (padding, [])
    return _namespaces.get("raw_ops.Conv2DBackpropFilter")(
        input=input, filter_sizes=filter_sizes, out_backprop=out_backprop, strides=strides, padding=padding,
        explicit_paddings=explicit, data_format=data_format, dilations=list(dilations),
    )  # fmt: skip
