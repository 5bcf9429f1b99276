"""Names of tf.nn and tf that few programs use: convolutions by TensorFlow's own op, patches of volumes, gradients of
depthwise convolutions, dropout by any sampler."""

from tandem._core import convert_to_tensor, execute
from tandem.ops import check, nn
from tandem.ops.space_batch import space_to_batch

_LAYOUTS = {("CHANNELS_LAST", 2): "NHWC", ("CHANNELS_FIRST", 2): "NCHW", ("CHANNELS_LAST", 3): "NDHWC", ("CHANNELS_FIRST", 3): "NCDHW"}


def conv(input, filter, strides, padding, explicit_paddings=(), data_format="CHANNELS_LAST", dilations=(), batch_dims=1,
         groups=1, name=None):  # fmt: skip
    """A convolution over two or three spatial dimensions; several batch dimensions count as one."""
    input, filter = check.with_rank(input, 4), check.with_rank(filter, 4)
    rank = input.shape.rank - batch_dims - 1
    sizes = execute("Shape", input)
    flat = execute("Reshape", input, execute("ConcatV2", [[-1], sizes[batch_dims:]], axis=0)) if batch_dims != 1 else input
    if rank not in (2, 3) or (data_format, rank) not in _LAYOUTS:
        raise ValueError(f"conv: data_format is CHANNELS_LAST or CHANNELS_FIRST and there are two or three spatial dimensions, got {data_format!r}, {rank}.")
    inner = lambda v: list(v)[-rank - 2 :] if v else [1] * (rank + 2)  # noqa: E731
    found = execute(
        "Conv2D" if rank == 2 else "Conv3D", flat, filter, strides=inner(strides), padding=padding,
        explicit_paddings=list(explicit_paddings), data_format=_LAYOUTS[data_format, rank], dilations=inner(dilations),
    )  # fmt: skip
    if batch_dims == 1:
        return found
    return execute("Reshape", found, execute("ConcatV2", [sizes[:batch_dims], execute("Shape", found)[1:]], axis=0))


def extract_volume_patches(input, ksizes, strides, padding, name=None):
    """Patches of volumes, each laid out along the last dimension."""
    x = check.with_rank(input, 5, 5)
    if len(ksizes) != 5 or len(strides) != 5:
        raise ValueError(f"extract_volume_patches: ksizes and strides have five numbers, got {ksizes} and {strides}.")
    if None in x.shape.as_list()[1:4]:
        raise ValueError(f"extract_volume_patches: the sizes of the volumes must be known, got {x.shape}.")
    (_, *sizes, _), (_, *steps, _) = ksizes, strides
    if min([*sizes, *steps]) < 1 or padding not in ("SAME", "VALID"):
        raise ValueError(f"extract_volume_patches: ksizes {ksizes} and strides {strides} must be positive, padding {padding!r} SAME or VALID.")
    if padding == "SAME":
        paddings = [[0, 0]]
        for size, step, there in zip(sizes, steps, x.shape.as_list()[1:4]):
            missing = max((-(-there // step) - 1) * step + size - there, 0)
            paddings.append([missing // 2, missing - missing // 2])
        x = execute("Pad", x, convert_to_tensor([*paddings, [0, 0]]))
    counts = [(there - size) // step + 1 for there, size, step in zip(x.shape.as_list()[1:4], sizes, steps)]
    parts = []
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            for k in range(sizes[2]):
                place = [slice(s, s + (n - 1) * d + 1, d) for s, n, d in zip((i, j, k), counts, steps)]
                parts.append(x[(slice(None), *place)])
    return execute("ConcatV2", parts, axis=-1) if len(parts) > 1 else parts[0]


def fingerprint(data, method="farmhash64", name=None):
    """Eight bytes of a hash of each row."""
    from tandem.framework.errors import InvalidArgumentError
    from tandem.framework.sparse_cross import _fingerprints

    if method not in ("farmhash64", b"farmhash64"):
        raise InvalidArgumentError(None, None, f"Unsupported fingerprint method: {method}")
    data = check.with_rank(data, 1)
    if data.dtype.name == "string":
        rows = execute("Reshape", data, execute("Pack", [execute("Shape", data)[0], -1], axis=0))
        if rows.shape[1] != 1:  # of the hashes of a row's strings
            inner = execute("Bitcast", execute("Reshape", _fingerprints(execute("Reshape", rows, [-1])), execute("Shape", rows)), type="uint8")
            return fingerprint(inner)
        texts = execute("Reshape", rows, [-1])
    else:
        texts = execute("ReduceJoin", _bytes(data), axis=[1])
    return execute("Bitcast", _fingerprints(texts), type="uint8")


def _bytes(data):
    """The memory of each row, as one string."""
    import numpy as np

    from tandem.framework.errors import InvalidArgumentError
    from tandem.ops.script import numpy_function, with_own_errors

    def read(array):
        if array.ndim == 0:
            raise InvalidArgumentError(None, None, "fingerprint: data must have at least one dimension.")
        rows = np.ascontiguousarray(array).reshape(array.shape[0], -1)
        return np.array([[row.tobytes()] for row in rows], object).reshape(-1, 1)

    return execute("Reshape", numpy_function(with_own_errors(read), [data], "string"), [-1, 1])


def general_dropout(x, rate, uniform_sampler, noise_shape=None, name=None):
    """Dropout by numbers that a function draws: uniform_sampler(shape=, dtype=)."""
    x = convert_to_tensor(x)
    shape = execute("Shape", x) if noise_shape is None else noise_shape
    kept = execute("GreaterEqual", uniform_sampler(shape=shape, dtype=x.dtype), convert_to_tensor(rate, x.dtype))
    return x * execute("Cast", kept, dtype=x.dtype) / (1.0 - convert_to_tensor(rate, x.dtype))


def ctc_unique_labels(labels, name=None):
    """(the labels of each row without repetitions, where each label stands among them)."""
    labels = execute("Cast", check.with_rank(labels, 2, 2), dtype="int64")
    if None in labels.shape.as_list():
        raise ValueError(f"ctc_unique_labels: the shape of labels must be known, got {labels.shape}.")
    rows = [execute("Unique", labels[i]) for i in range(labels.shape[0])]
    width = labels.shape[1]
    padded = [execute("Pad", row[0], [[0, width - execute("Size", row[0])]]) for row in rows]
    return execute("Pack", padded, axis=0), execute("Pack", [row[1] for row in rows], axis=0)


def depthwise_conv2d_backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format="NHWC",
                                    dilations=(1, 1, 1, 1), name=None):  # fmt: skip
    """The gradient of a depthwise convolution's input."""
    padding, explicit = nn._padding(padding)
    return execute("DepthwiseConv2dNativeBackpropInput", input_sizes, filter, out_backprop, strides=list(strides), padding=padding,
                   explicit_paddings=explicit, data_format=data_format, dilations=list(dilations))  # fmt: skip


def depthwise_conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format="NHWC",
                                     dilations=(1, 1, 1, 1), name=None):  # fmt: skip
    """The gradient of a depthwise convolution's filter."""
    padding, explicit = nn._padding(padding)
    return execute("DepthwiseConv2dNativeBackpropFilter", input, filter_sizes, out_backprop, strides=list(strides), padding=padding,
                   explicit_paddings=explicit, data_format=data_format, dilations=list(dilations))  # fmt: skip


def with_space_to_batch(input, dilation_rate, padding, op, filter_shape=None, spatial_dims=None, data_format=None):
    """An op on the parts of an image that lie `dilation_rate` apart: a dilated one by one that is not."""
    from tandem import batch_to_space

    input = convert_to_tensor(input)
    rates = [int(r) for r in (dilation_rate.numpy() if hasattr(dilation_rate, "numpy") else dilation_rate)]
    if all(r == 1 for r in rates):
        return op(input, num_spatial_dims=len(rates), padding=padding)
    input = check.with_rank(input, len(rates) + 2)
    dims = list(spatial_dims or range(1, len(rates) + 1))
    if dims != list(range(1, len(rates) + 1)):
        raise ValueError(f"with_space_to_batch: spatial_dims must be the dimensions after the first, got {dims}.")
    before = [0] * len(rates)
    after = [0] * len(rates)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("`filter_shape` must be specified for `padding='SAME'`.")
        reach = [(int(f) - 1) * r for f, r in zip(filter_shape, rates)]
        before, after = [r // 2 for r in reach], [r - r // 2 for r in reach]
    sizes = [input.shape[d] for d in dims]
    more = [-(s + b + a) % r for s, b, a, r in zip(sizes, before, after, rates)]
    parts = space_to_batch(input, rates, [[b, a + m] for b, a, m in zip(before, after, more)])
    return batch_to_space(op(parts, num_spatial_dims=len(rates), padding="VALID"), rates, [[0, m] for m in more])
