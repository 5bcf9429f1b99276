"""tf.compat.v1.layers: layers as functions, whose variables get_variable() makes."""

from tandem import _core
from tandem._namespaces import get
from tandem.graph_mode.collections import GraphKeys, add_to_collection
from tandem.graph_mode.scopes import get_variable, variable_scope

_ZEROS = object()


def _initializer(given, default="zeros_initializer"):
    return get(f"compat.v1.{default}")() if given is _ZEROS else given


def _weights(name, shape, dtype, initializer, regularizer, constraint, trainable):
    return get_variable(name, shape, dtype, _initializer(initializer), regularizer, trainable, constraint=constraint)


def _activated(value, activation):
    return value if activation is None else activation(value)


def _width(inputs, axis=-1):
    width = inputs.shape.as_list()[axis] if inputs.shape.rank is not None else None
    if width is None:
        raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
    return width


def _regularized(value, regularizer):
    if regularizer is not None:
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(value))
    return value


def _tuple(value, rank):
    return [value] * rank if isinstance(value, int) else list(value)


def dense(
    inputs, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS,
    kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
    bias_constraint=None, trainable=True, name=None, reuse=None,
):  # fmt: skip
    """activation(inputs · kernel + bias)."""
    inputs = _core.convert_to_tensor(inputs)
    with variable_scope(name, "dense", reuse=reuse):
        kernel = _weights("kernel", [_width(inputs), units], inputs.dtype, kernel_initializer, kernel_regularizer,
                          kernel_constraint, trainable)  # fmt: skip
        out = get("tensordot")(inputs, kernel, [[inputs.shape.rank - 1], [0]]) if inputs.shape.rank > 2 else get("matmul")(
            inputs, kernel)  # fmt: skip
        if use_bias:
            bias = _weights("bias", [units], inputs.dtype, bias_initializer, bias_regularizer, bias_constraint, trainable)
            out = get("nn.bias_add")(out, bias)
        return _regularized(_activated(out, activation), activity_regularizer)


def _conv(
    rank, inputs, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
    kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
    bias_constraint, trainable, name, reuse,
):  # fmt: skip
    inputs = _core.convert_to_tensor(inputs)
    last = data_format == "channels_last"
    with variable_scope(name, f"conv{rank}d", reuse=reuse):
        shape = [*_tuple(kernel_size, rank), _width(inputs, -1 if last else 1), filters]
        kernel = _weights("kernel", shape, inputs.dtype, kernel_initializer, kernel_regularizer, kernel_constraint, trainable)
        form = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[rank] if last else {1: "NCW", 2: "NCHW", 3: "NCDHW"}[rank]
        out = get("nn.convolution")(inputs, kernel, strides=_tuple(strides, rank), padding=padding.upper(), data_format=form,
                                    dilations=_tuple(dilation_rate, rank))  # fmt: skip
        if use_bias:
            bias = _weights("bias", [filters], inputs.dtype, bias_initializer, bias_regularizer, bias_constraint, trainable)
            out = get("nn.bias_add")(out, bias, data_format=None if last else "NCHW")
        return _regularized(_activated(out, activation), activity_regularizer)


def _conv_of(rank):
    def conv(
        inputs, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
        activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None,
        bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True,
        name=None, reuse=None,
    ):  # fmt: skip
        return _conv(rank, inputs, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                     kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                     kernel_constraint, bias_constraint, trainable, name, reuse)  # fmt: skip

    conv.__name__ = conv.__qualname__ = f"conv{rank}d"
    return conv


conv1d, conv2d, conv3d = _conv_of(1), _conv_of(2), _conv_of(3)


def conv2d_transpose(
    inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", activation=None,
    use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None, bias_regularizer=None,
    activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None,
):  # fmt: skip
    if data_format != "channels_last":
        raise NotImplementedError("conv2d_transpose is there with data_format='channels_last'.")
    inputs = _core.convert_to_tensor(inputs)
    size, step = _tuple(kernel_size, 2), _tuple(strides, 2)
    with variable_scope(name, "conv2d_transpose", reuse=reuse):
        kernel = _weights("kernel", [*size, filters, _width(inputs)], inputs.dtype, kernel_initializer, kernel_regularizer,
                          kernel_constraint, trainable)  # fmt: skip
        shape = get("shape")(inputs)
        grown = [s * k + (max(w - k, 0) if padding.lower() == "valid" else 0)
                 for s, k, w in zip((shape[1], shape[2]), step, size)]  # fmt: skip
        out = get("nn.conv2d_transpose")(inputs, kernel, get("stack")([shape[0], *grown, filters]), [1, *step, 1],
                                         padding.upper())  # fmt: skip
        if use_bias:
            bias = _weights("bias", [filters], inputs.dtype, bias_initializer, bias_regularizer, bias_constraint, trainable)
            out = get("nn.bias_add")(out, bias)
        return _regularized(_activated(out, activation), activity_regularizer)


def separable_conv2d(
    inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1),
    depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None, pointwise_initializer=None,
    bias_initializer=_ZEROS, depthwise_regularizer=None, pointwise_regularizer=None, bias_regularizer=None,
    activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None, trainable=True,
    name=None, reuse=None,
):  # fmt: skip
    if data_format != "channels_last":
        raise NotImplementedError("separable_conv2d is there with data_format='channels_last'.")
    inputs = _core.convert_to_tensor(inputs)
    width = _width(inputs)
    with variable_scope(name, "separable_conv2d", reuse=reuse):
        deep = _weights("depthwise_kernel", [*_tuple(kernel_size, 2), width, depth_multiplier], inputs.dtype,
                        depthwise_initializer, depthwise_regularizer, depthwise_constraint, trainable)  # fmt: skip
        point = _weights("pointwise_kernel", [1, 1, width * depth_multiplier, filters], inputs.dtype, pointwise_initializer,
                         pointwise_regularizer, pointwise_constraint, trainable)  # fmt: skip
        out = get("nn.separable_conv2d")(inputs, deep, point, [1, *_tuple(strides, 2), 1], padding.upper(),
                                         dilations=_tuple(dilation_rate, 2))  # fmt: skip
        if use_bias:
            bias = _weights("bias", [filters], inputs.dtype, bias_initializer, bias_regularizer, bias_constraint, trainable)
            out = get("nn.bias_add")(out, bias)
        return _regularized(_activated(out, activation), activity_regularizer)


def _pooling(rank, kind):
    def pooling(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
        last = data_format == "channels_last"
        form = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[rank] if last else {1: "NCW", 2: "NCHW", 3: "NCDHW"}[rank]
        return get("nn.pool")(inputs, _tuple(pool_size, rank), kind, strides=_tuple(strides, rank), padding=padding.upper(),
                              data_format=form, name=name)  # fmt: skip

    pooling.__name__ = pooling.__qualname__ = f"{'max' if kind == 'MAX' else 'average'}_pooling{rank}d"
    return pooling


max_pooling1d, max_pooling2d, max_pooling3d = (_pooling(rank, "MAX") for rank in (1, 2, 3))
average_pooling1d, average_pooling2d, average_pooling3d = (_pooling(rank, "AVG") for rank in (1, 2, 3))


def flatten(inputs, name=None, data_format="channels_last"):
    """Every row as a vector."""
    inputs = _core.convert_to_tensor(inputs)
    if data_format == "channels_first" and inputs.shape.rank > 2:
        inputs = get("transpose")(inputs, [0, *range(2, inputs.shape.rank), 1])
    dims = inputs.shape.as_list()[1:]
    if None in dims:
        shape = get("shape")(inputs)
        return get("reshape")(inputs, get("stack")([shape[0], get("reduce_prod")(shape[1:])]), name=name)
    size = 1
    for dim in dims:
        size *= dim
    return get("reshape")(inputs, [-1, size], name=name)


def _chosen(training, then, otherwise):
    """`training` is known, or decides when it is run."""
    known = _core.static_value(training) if isinstance(training, _core.Tensor) else training
    if known is None:
        return get("cond")(get("cast")(training, "bool"), then, otherwise)
    return then() if known else otherwise()


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    inputs = _core.convert_to_tensor(inputs)
    return _chosen(training, lambda: get("compat.v1.nn.dropout")(inputs, rate=rate, noise_shape=noise_shape, seed=seed),
                   lambda: get("identity")(inputs))  # fmt: skip


def batch_normalization(
    inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer=_ZEROS, gamma_initializer=None,
    moving_mean_initializer=_ZEROS, moving_variance_initializer=None, beta_regularizer=None, gamma_regularizer=None,
    beta_constraint=None, gamma_constraint=None, training=False, trainable=True, name=None, reuse=None, renorm=False,
    renorm_clipping=None, renorm_momentum=0.99, fused=None, virtual_batch_size=None, adjustment=None,
):  # fmt: skip
    """Normalized by the batch while training, otherwise by moving averages, which operations of UPDATE_OPS move."""
    if renorm or virtual_batch_size is not None or adjustment is not None:
        raise NotImplementedError("batch_normalization is there without renorm, virtual_batch_size and adjustment.")
    inputs = _core.convert_to_tensor(inputs)
    rank = inputs.shape.rank
    axis = axis[0] if isinstance(axis, (list, tuple)) else axis
    axis = axis % rank
    size = [_width(inputs, axis)]
    ones = get("compat.v1.ones_initializer")()

    def weights(kind, used, initializer, regularizer=None, constraint=None, trained=trainable):
        return _weights(kind, size, inputs.dtype, initializer, regularizer, constraint, trained) if used else None

    with variable_scope(name, "batch_normalization", reuse=reuse):
        gamma = weights("gamma", scale, gamma_initializer or ones, gamma_regularizer, gamma_constraint)
        beta = weights("beta", center, beta_initializer, beta_regularizer, beta_constraint)
        mean = weights("moving_mean", True, moving_mean_initializer, trained=False)
        variance = weights("moving_variance", True, moving_variance_initializer or ones, trained=False)
        axes = [i for i in range(rank) if i != axis]
        batch_mean, batch_variance = get("nn.moments")(inputs, axes)
        used = [_chosen(training, lambda a=a: get("identity")(a), lambda b=b: b.read_value())
                for a, b in ((batch_mean, mean), (batch_variance, variance))]  # fmt: skip
        if not (isinstance(training, bool) and not training):
            _move(inputs, axes, training, momentum, mean, batch_mean, variance, batch_variance, fused)
        shape = [size[0] if i == axis else 1 for i in range(rank)]
        parts = [None if v is None else get("reshape")(v, shape) for v in (*used, beta, gamma)]
        return get("nn.batch_normalization")(inputs, *parts, epsilon)


def _move(inputs, axes, training, momentum, mean, batch_mean, variance, batch_variance, fused):
    """Operations that move the averages; they do nothing where it is not training."""
    rate = _chosen(training, lambda: get("constant")(1.0 - momentum), lambda: get("constant")(0.0))
    rate = get("cast")(rate, inputs.dtype)
    if inputs.shape.rank == 4 and fused is not False:  # TensorFlow's fused op gives the unbiased one
        count = get("cast")(get("reduce_prod")(get("gather")(get("shape")(inputs), axes)), inputs.dtype)
        batch_variance = batch_variance * (count / get("maximum")(count - 1, 1))
    for moving, now in ((mean, batch_mean), (variance, batch_variance)):
        update = moving.assign_sub((moving.read_value() - now) * rate, read_value=False)
        if update is not None:
            add_to_collection(GraphKeys.UPDATE_OPS, update)


# ---- Layers as objects


class Layer:
    """A layer function with its arguments; its variables are made by the first call."""

    _function, _kind = None, "layer"

    def __init__(self, *args, name=None, trainable=True, dtype=None, _scope=None, _reuse=None, **kwargs):
        self._args, self._kwargs, self._name = args, kwargs, name
        self._scope, self.built = None, False
        if _reuse is not None:
            self._kwargs["reuse"] = _reuse
        if not trainable:
            self._kwargs["trainable"] = False

    name = property(lambda self: self._name or self._kind)

    def __call__(self, inputs, *args, **kwargs):
        if self._scope is None:
            with variable_scope(self._name, self._kind) as scope:
                self._scope = scope
        options = {**self._kwargs, **kwargs}
        if self.built:
            options["reuse"] = True
        options = {k: v for k, v in options.items() if k != "reuse" or self._has_variables}
        result = type(self)._function(inputs, *self._args, *args, name=self._scope if self._has_variables else None, **options)
        self.built = True
        return result

    apply = __call__
    _has_variables = True

    def _of(self, method):
        return [] if self._scope is None else getattr(self._scope, method)()

    variables = weights = property(lambda self: self._of("global_variables"))
    trainable_variables = trainable_weights = property(lambda self: self._of("trainable_variables"))

    @property
    def kernel(self):
        return next(v for v in self.variables if v.op.name.endswith("/kernel"))

    @property
    def bias(self):
        return next((v for v in self.variables if v.op.name.endswith("/bias")), None)


def _layer(name, function, kind, has_variables=True):
    members = {"_function": staticmethod(function), "_kind": kind, "_has_variables": has_variables,
               "__doc__": f"The function {function.__name__} as a layer."}  # fmt: skip
    return type(name, (Layer,), members)


Dense = _layer("Dense", dense, "dense")
Conv1D, Conv2D, Conv3D = (_layer(f"Conv{n}D", f, f"conv{n}d") for n, f in ((1, conv1d), (2, conv2d), (3, conv3d)))
Conv2DTranspose = _layer("Conv2DTranspose", conv2d_transpose, "conv2d_transpose")
SeparableConv2D = _layer("SeparableConv2D", separable_conv2d, "separable_conv2d")
BatchNormalization = _layer("BatchNormalization", batch_normalization, "batch_normalization")
Dropout = _layer("Dropout", dropout, "dropout", False)
Flatten = _layer("Flatten", flatten, "flatten", False)
MaxPooling1D, MaxPooling2D, MaxPooling3D = (
    _layer(f"MaxPooling{n}D", f, f"max_pooling{n}d", False)
    for n, f in ((1, max_pooling1d), (2, max_pooling2d), (3, max_pooling3d)))  # fmt: skip
AveragePooling1D, AveragePooling2D, AveragePooling3D = (
    _layer(f"AveragePooling{n}D", f, f"average_pooling{n}d", False)
    for n, f in ((1, average_pooling1d), (2, average_pooling2d), (3, average_pooling3d)))  # fmt: skip
