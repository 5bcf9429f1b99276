"""Making, reshaping and cutting tensors, where TensorFlow's function is more than one op."""

import builtins

import numpy as np

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor as _convert, execute, op
from tandem.framework.dtypes import bool as bool_, float32, int32, int64
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.graph import session_graph
from tandem.framework.shape import TensorShape, as_shape
from tandem.ops.check import axis_of, in_capitals, with_rank
from tandem.ops.sizes import as_int32, of_one_dtype

_Cast, _ConcatV2, _Fill, _GatherV2, _Range = op("Cast"), op("ConcatV2"), op("Fill"), op("GatherV2"), op("Range")
_Pack = op("Pack")
_Reshape, _SelectV2, _Transpose, _Where = op("Reshape"), op("SelectV2"), op("Transpose"), op("Where")


def constant(value, dtype=None, shape=None, name="Const"):
    """A tensor with these contents."""
    tensor = _convert(value, dtype)
    if session_graph() is not None and not tensor._symbolic:
        from tandem.graph_mode.ops import constant_in_graph

        with _core.init_scope():
            tensor = _shaped(tensor, value, shape)
        return constant_in_graph(tensor, None, name)
    return _shaped(tensor, value, shape)


def _shaped(tensor, value, shape):
    if shape is None:
        return tensor
    shape = as_shape(shape)
    wanted, there = shape.num_elements(), tensor.shape.num_elements()
    if tensor.shape == shape:
        return tensor
    if wanted == there:
        return execute(_Reshape, tensor, shape.as_list())
    if there == 1:
        return execute(_Fill, shape.as_list(), execute(_Reshape, tensor, []))
    if tensor._symbolic:
        raise TypeError("tf.constant takes values, not a symbolic tensor, where a shape is given that it does not have.")
    raise TypeError(
        f"Eager execution of tf.constant with unsupported shape. Tensor {tensor.numpy()} (converted from {value}) "
        f"has {there} elements, but got `shape` {shape} with {wanted} elements)."
    )


def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None):
    """The tensor that a value stands for."""
    tensor = _convert(value, dtype, dtype_hint)
    if session_graph() is not None and not tensor._symbolic:
        from tandem.graph_mode.ops import constant_in_graph

        return constant_in_graph(tensor, None, name)
    return tensor


def get_static_value(tensor, partial=False):
    """The value as far as it is known while tracing, or None."""
    if not isinstance(tensor, _core.Tensor):
        return _core.static_value(_convert(tensor))
    return _core.static_value(tensor)


def _filled(shape, value, dtype):
    dtype = as_dtype(dtype)
    if dtype.name == "string":
        value = "" if value == 0 else "1"
    elif dtype is bool_:
        value = builtins.bool(value)
    if isinstance(shape, int):
        shape = [shape]
    try:
        return execute(_Fill, shape, _convert(value, dtype))
    except InvalidArgumentError:
        if isinstance(shape, (list, tuple)) and any(isinstance(size, float) for size in shape):
            raise TypeError(f"Cannot convert {shape} to EagerTensor of dtype int32") from None
        raise


def zeros(shape, dtype=float32, name=None, layout=None):
    """A tensor of zeros."""
    return _filled(shape, 0, dtype)


def ones(shape, dtype=float32, name=None, layout=None):
    """A tensor of ones."""
    return _filled(shape, 1, dtype)


def eye(num_rows, num_columns=None, batch_shape=None, dtype=float32, name=None):
    """An identity matrix, or a batch of them."""
    columns = num_rows if num_columns is None else num_columns
    rows_equal = execute("Equal", range(num_rows)[:, None], range(columns)[None, :])
    matrix = execute(_Cast, rows_equal, dtype=as_dtype(dtype))
    if batch_shape is None:
        return matrix
    batch = as_int32(batch_shape, "batch_shape")
    return execute("BroadcastTo", matrix, execute(_ConcatV2, [batch, execute("Shape", matrix)], axis=0))


def range(start, limit=None, delta=1, dtype=None, name="range"):
    """Numbers from start up to (without) limit in steps of delta."""
    bounds = range_bounds(start, limit, delta, dtype)
    made = execute(_Range, *bounds)
    if made._symbolic:
        made._bounds = bounds  # a traced loop over it counts instead
    return made


def range_bounds(start, limit=None, delta=1, dtype=None, name=None):
    """The inputs of the Range op for the arguments of tf.range."""
    if limit is None:
        start, limit = 0, start
    values = [start, limit, delta]
    if dtype is not None:
        dtype = as_dtype(dtype)
        values = [_bound(v, dtype) for v in values]
    else:
        values = [_convert(v) for v in values]
        order = [int32, int64, float32, as_dtype("float64")]
        dtype = max((v.dtype for v in values), key=lambda t: order.index(t) if t in order else len(order))
        values = [v if v.dtype is dtype else execute(_Cast, v, dtype=dtype) for v in values]
    return values


def _bound(value, dtype):
    """A bound of a range as that dtype; a whole number that it cannot hold is an error."""
    if not _core.is_tensor_like(value):
        return convert_sizes(value, dtype)
    value = _convert(value)
    return as_int32(value, "a bound of tf.range") if dtype is int32 and value.dtype.is_integer else _to(value, dtype)


def _to(value, dtype):
    value = _convert(value)
    return value if value.dtype is dtype else execute(_Cast, value, dtype=dtype)


def linspace(start, stop, num, name=None, axis=0):
    """Evenly spaced numbers from start to stop."""
    start, stop = _convert(start), _convert(stop)
    if start.dtype.is_integer:
        start = execute(_Cast, start, dtype="float64")
    stop = _to(stop, start.dtype)
    return execute("LinSpace", start, stop, num=num, axis=axis)


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """One value where a new axis' position equals the index, another elsewhere."""
    if dtype is None:
        given = on_value if on_value is not None else off_value
        dtype = float32 if given is None else _convert(given).dtype
    dtype = as_dtype(dtype)
    for value, what in ((on_value, "on_value"), (off_value, "off_value")):
        if isinstance(value, _core.Tensor) and value.dtype is not dtype:
            raise TypeError(f"dtype {dtype!r} of {what} does not match dtype parameter {value.dtype!r}")
    yes, no = (True, False) if dtype is bool_ else (1, 0)
    return execute(
        "OneHot",
        indices,
        depth,
        _convert(yes if on_value is None else on_value, dtype),
        _convert(no if off_value is None else off_value, dtype),
        axis=-1 if axis is None else axis,
    )


def transpose(a, perm=None, conjugate=False, name="transpose"):
    """Permutes dimensions; reverses them when perm is None."""
    a = _convert(a)
    if perm is None:
        if a.shape.rank is None:
            from tandem.ops.ranks import by_rank

            return by_rank(lambda known: transpose(known, None, conjugate), a)
        perm = list(reversed(builtins.range(a.shape.rank)))
    return execute(_Transpose, a, perm=perm, conjugate=conjugate)


def concat(values, axis, name="concat"):
    """Joins tensors along an axis."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        return execute("Identity", values[0])
    return execute(_ConcatV2, values, axis=axis)


def stack(values, axis=0, name="stack"):
    """Stacks tensors of one shape along a new axis."""
    if isinstance(values, (list, tuple)) and not values:
        if axis == 0:
            return _convert(values)  # an empty list is an empty tensor
        raise IndexError("tf.stack of no tensors has no shape to put an axis into. Give at least one.")
    if axis == 0 and isinstance(values, _core.Tensor):
        return values  # its rows, stacked
    if name is not None:
        _core.name_next(name)
    return execute(_Pack, values, axis=axis)


def unstack(value, num=None, axis=0, name="unstack"):
    """Takes a tensor apart along an axis, which goes away."""
    value = _convert(value)
    if num is None:
        num = value.shape[axis] if value.shape.rank is not None else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    if num == 0:
        return []
    return execute("Unpack", value, num=num, axis=axis)


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Cuts a tensor into equal parts, or parts of given sizes, along an axis."""
    if isinstance(num_or_size_splits, int) or (
        isinstance(num_or_size_splits, (np.integer, _core.Tensor)) and np.ndim(num_or_size_splits) == 0
    ):
        return execute("Split", value, num=num_or_size_splits, axis=axis)
    sizes = num_or_size_splits
    if isinstance(sizes, (list, tuple)) and any(getattr(s, "_symbolic", False) for s in sizes):
        sizes = _convert(sizes)
    if getattr(sizes, "_symbolic", False):
        return _split_by_tensor(_convert(value), sizes, int(axis), num)
    return execute("SplitV", value, sizes=sizes, axis=axis)


def _split_by_tensor(value, sizes, axis, num):
    """Parts whose sizes are known only when the function runs; how many there are is known."""
    if not sizes.dtype.is_integer:
        raise TypeError(f"tf.split: sizes must be integers, got a tensor of {sizes.dtype!r}.")
    sizes = with_rank(sizes, 1, 1)
    num = sizes.shape[0] if num is None else num
    if num is None:
        raise ValueError("Cannot infer argument `num` from shape of `num_or_size_splits`: give `num`.")
    if value.shape.rank is None:
        raise ValueError("tf.split by a tensor of sizes needs a tensor of known rank.")
    axis = axis_of(axis, value)
    sizes = execute(_Cast, sizes, dtype=int64)
    starts = execute("Cumsum", sizes, axis=0, exclusive=True)
    whole = [0] * axis, [-1] * axis, [0] * (value.shape.rank - axis - 1), [-1] * (value.shape.rank - axis - 1)
    return [
        slice(value, _convert([*whole[0], starts[i], *whole[2]]), _convert([*whole[1], sizes[i], *whole[3]]))
        for i in builtins.range(num)
    ]


def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """Puts values before and after the contents of each dimension."""
    mode = in_capitals(mode, "mode")
    if mode in ("REFLECT", "SYMMETRIC"):
        return execute("MirrorPad", tensor, paddings, mode=mode)
    if mode != "CONSTANT":
        raise ValueError(
            "Value of argument `mode` expected to be one of 'CONSTANT', 'REFLECT', or 'SYMMETRIC'. "
            f"Received `mode` = {mode}"
        )
    if not isinstance(constant_values, _core.Tensor) and np.isscalar(constant_values) and constant_values == 0:
        return execute("Pad", tensor, paddings)
    return execute("PadV2", tensor, paddings, constant_values)


def slice(input_, begin, size, name=None):
    """A box of a tensor, by where it begins and its sizes."""
    return execute("Slice", input_, *of_one_dtype(begin, size))


def dynamic_update_slice(x, update, start_indices):
    """A copy of x with a box replaced; the box is moved inside where it would stick out."""
    x = _convert(x)
    update = _convert(update, x.dtype)
    size = execute("Shape", update)
    start = convert_sizes(start_indices, None, int32)
    last = execute(_Cast, execute("Shape", x) - size, dtype=start.dtype)
    start = execute(_Cast, execute("Maximum", execute("Minimum", start, last), 0), dtype=int32)
    return execute("TensorStridedSliceUpdate", x, start, start + size, execute("OnesLike", start), update)


def strided_slice(
    input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0,
    var=None, name=None,
):  # fmt: skip
    """x[begin:end:strides] with masks for what is left out."""
    begin, end, strides = of_one_dtype(begin, end, 1 if strides is None else strides)
    if strides.shape.rank == 0:
        strides = execute("OnesLike", begin)
    return execute(
        "StridedSlice", input_, begin, end, strides, begin_mask=begin_mask, end_mask=end_mask,
        ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask,
    )  # fmt: skip


def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """Slices of a tensor along an axis, chosen by indices."""
    if axis is None:
        axis = batch_dims
    if isinstance(params, _core.VariableBase) and axis == 0 and batch_dims == 0:
        return execute("ResourceGather", params, indices)
    return execute(_GatherV2, params, indices, axis=axis, batch_dims=batch_dims)


def boolean_mask(tensor, mask, axis=None, name="boolean_mask"):
    """The elements of a tensor where a mask of booleans is true."""
    mask = _convert(mask)
    if mask.shape.rank == 0:
        raise ValueError("mask cannot be scalar.")
    return _core.functions.boolean_mask(tensor, mask, 0 if axis is None else int(axis))


def where(condition, x=None, y=None, name=None):
    """x where the condition holds, else y; with neither, the coordinates where it holds."""
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        return execute(_Where, condition)
    if hasattr(condition, "with_flat_values"):  # ragged
        return execute(_SelectV2, condition, x, y)
    return execute(_SelectV2, _convert(condition, bool_), x, y)


def broadcast_static_shape(shape_x, shape_y):
    """The shape that two shapes broadcast to."""
    x, y = as_shape(shape_x), as_shape(shape_y)
    if x.rank is None or y.rank is None:
        return TensorShape(None)
    rank = max(x.rank, y.rank)
    result = []
    for a, b in zip([1] * (rank - x.rank) + x.as_list(), [1] * (rank - y.rank) + y.as_list()):
        if a == 1 or a == b:
            result.append(b)
        elif b == 1 or b is None:
            result.append(a)
        elif a is None:
            result.append(b)
        else:
            raise ValueError(
                "Incompatible shapes for broadcasting. Two shapes are compatible if for each dimension "
                f"pair they are either equal or one of them is 1. Received: {x} and {y}."
            )
    return TensorShape(result)


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None):
    """Reverses the first elements of each batch entry, as many as it is long."""
    return execute("ReverseSequence", input, seq_lengths, seq_axis=seq_axis, batch_axis=batch_axis or 0)


def repeat(input, repeats, axis=None, name=None):
    """Repeats each slice along an axis as often as a count says."""
    input = _convert(input)
    if axis is None:
        input, axis = execute(_Reshape, input, [-1]), 0
    return execute("Repeat", input, _convert(repeats), axis=axis)


def meshgrid(*args, **kwargs):
    """Coordinates of a grid from vectors of coordinates."""
    indexing = kwargs.pop("indexing", "xy")
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    vectors = [execute(_Reshape, _convert(x), [-1]) for x in args]
    n = len(vectors)
    places = list(builtins.range(n))
    if indexing == "xy" and n > 1:
        places[:2] = [1, 0]
    sizes = [None] * n
    for vector, place in zip(vectors, places):
        sizes[place] = execute("Size", vector)
    shape = _convert(sizes) if n else None
    grids = []
    for vector, place in zip(vectors, places):
        form = [1] * n
        form[place] = -1
        grids.append(execute("BroadcastTo", execute(_Reshape, vector, form), shape))
    return grids


def sequence_mask(lengths, maxlen=None, dtype=bool_, name=None):
    """True in the first `lengths` places of each row."""
    lengths = _convert(lengths)
    if maxlen is None:
        maxlen = execute("Maximum", execute("Max", lengths), _convert(0, lengths.dtype))
    elif lengths.dtype.is_integer:
        maxlen = convert_sizes(maxlen)
        if maxlen.dtype is int64:
            lengths = execute(_Cast, lengths, dtype=int64)
    row = range(_to(maxlen, lengths.dtype))
    mask = execute("Less", row, execute("ExpandDims", lengths, axis=-1))
    dtype = as_dtype(dtype)
    return mask if dtype is bool_ else execute(_Cast, mask, dtype=dtype)


def _in_rows(tensor):
    """As a matrix whose rows are those of the last axis."""
    length = tensor.shape[-1] if tensor.shape.rank is not None else None
    return execute(_Reshape, tensor, [-1, execute("Shape", tensor)[-1] if length is None else length])


def searchsorted(sorted_sequence, values, side="left", out_type=int32, name=None):
    """Where values could be put into sorted rows."""
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'.")
    sequence = _convert(sorted_sequence)
    values = _convert(values, sequence.dtype)
    if sequence.shape.rank == 0:
        raise InvalidArgumentError(None, None, "sorted_sequence must have a last dimension, got a scalar.")
    sorted_2d = _in_rows(sequence)
    values_2d = _in_rows(values) if values.shape.rank != 0 else values
    found = execute(
        "LowerBound" if side == "left" else "UpperBound", sorted_2d, values_2d, out_type=as_dtype(out_type)
    )
    return execute(_Reshape, found, execute("Shape", values))
