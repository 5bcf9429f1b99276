"""Ops whose axis, shift, permutation or count is only known when the function runs.

The op table has these as attributes, which decide shapes when an op is traced. The dispatcher asks here when such a
value is a symbolic tensor: one branch for each axis there is, or other ops that compute the same.
"""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import int32
from tandem.ops import check


def run(op, inputs, attributes):
    """The result, or NotImplemented where nothing computes it."""
    rule = _RULES.get(op)
    late = {name for name, value in attributes.items() if _is_symbolic(value)}
    if rule is None or not late <= {"axis", "fixed_length", "num", "perm", "quality", "shift"}:
        return NotImplemented
    return rule(op, list(inputs), dict(attributes))


def _is_symbolic(value):
    values = value if isinstance(value, (list, tuple)) else [value]
    return any(isinstance(v, _core.Tensor) and v._symbolic for v in values)


def _int32(value):
    value = convert_to_tensor(value)
    return value if value.dtype is int32 else execute("Cast", value, dtype=int32)


def _scalar(value):
    """A scalar of int32, also of a vector of one; None for others."""
    value = _int32(value)
    if value.shape.rank == 0:
        return value
    return execute("Reshape", value, []) if value.shape.as_list() == [1] else None


def _each_axis(axis, rank, compute):
    """compute(0), compute(1), … of which a run takes that of the axis."""
    from tandem.ops.control_flow import switch_case

    check.Assert(execute("LogicalAnd", axis >= -rank, axis < rank), ["axis is out of range:", axis, "rank:", rank])
    return switch_case(execute("FloorMod", axis, rank), [lambda i=i: compute(i) for i in range(rank)])


def _by_axis(first, more=0):
    """Of ops with one axis of the input `first`, which has `more` dimensions when the axis counts."""

    def rule(op, inputs, attributes):
        value = inputs[first]
        value = convert_to_tensor(value[0] if isinstance(value, (list, tuple)) else value)
        rank = value.shape.rank
        if rank is None or rank + more == 0:
            return NotImplemented
        axis = _scalar(attributes.pop("axis"))
        if axis is None:
            return NotImplemented
        inputs = [[convert_to_tensor(t) for t in v] if isinstance(v, (list, tuple)) else v for v in inputs]
        if any(isinstance(v, _core.Tensor) and v.shape.rank == 0 for v in attributes.values()):
            return NotImplemented
        return _each_axis(axis, rank + more, lambda i: execute(op, *inputs, axis=i, **attributes))

    return rule


def _reduced(op, inputs, attributes):
    """Over several axes: a dimension after the other, or all as the last one."""
    x, axes = convert_to_tensor(inputs[0]), _int32(attributes["axis"])
    rank, keep = x.shape.rank, attributes.get("keepdims", False)
    if _scalar(axes) is not None:
        return _by_axis(0)(op, [x, *inputs[1:]], attributes)
    count = axes.shape[0] if axes.shape.rank == 1 else None
    if rank is None or (count is None and not keep):
        return NotImplemented
    axes = execute("FloorMod", axes, rank)
    taken = execute("Any", execute("Equal", axes[:, None], convert_to_tensor(list(range(rank)), int32)), axis=0)
    if count is not None:
        order = execute("ArgSort", execute("Cast", taken, dtype=int32), axis=0, stable=True)
        moved = _permuted(x, order)
        sizes = execute("Shape", moved)
        rest = execute("ConcatV2", [sizes[: rank - count], execute("Prod", sizes[rank - count :], keepdims=True)], axis=0)
        result = execute(op, execute("Reshape", moved, rest), axis=rank - count)
        if not keep:
            return result
        return execute("Reshape", result, execute("SelectV2", taken, 1, execute("Shape", x)))
    for axis in range(rank):
        x = _chosen(taken[axis], execute(op, x, axis=axis, keepdims=True), x)
    return x


def _chosen(condition, this, other):
    from tandem.ops.control_flow import cond

    return cond(condition, lambda: this, lambda: other)


def _permuted(x, order):
    """Transposed by a permutation that is a tensor: every element is fetched from its place."""
    rank = order.shape[0]
    sizes = execute("Shape", x)
    strides = execute("Cumprod", sizes, axis=0, exclusive=True, reverse=True)
    new, steps = execute("GatherV2", sizes, order), execute("GatherV2", strides, order)
    places = convert_to_tensor(0)
    for d in range(rank):
        along = execute("Range", 0, new[d], 1) * steps[d]
        places = places + execute("Reshape", along, [-1 if i == d else 1 for i in range(rank)])
    return execute("GatherV2", execute("Reshape", x, [-1]), places)


def _transpose(op, inputs, attributes):
    if attributes.pop("conjugate", False) and inputs[0].dtype.is_complex:
        inputs = [execute("Conj", inputs[0])]
    x, order = convert_to_tensor(inputs[0]), _int32(attributes["perm"])
    rank = x.shape.rank if x.shape.rank is not None else order.shape[0] if order.shape.rank else None
    if rank is None or set(attributes) - {"perm"}:
        return NotImplemented
    order = execute("Reshape", order, [rank])
    return _permuted(x, execute("FloorMod", order, max(rank, 1))) if rank else x


def _reverse(op, inputs, attributes):
    x, axes = convert_to_tensor(inputs[0]), execute("Reshape", _int32(attributes["axis"]), [-1])
    rank = x.shape.rank
    if rank is None:
        return NotImplemented
    for axis in range(rank):
        taken = execute("Any", execute("Equal", execute("FloorMod", axes, rank), axis))
        x = _chosen(taken, execute("ReverseV2", x, axis=[axis]), x)
    return x


def _elements(value):
    """The numbers of a scalar or vector, each for itself; None where nobody knows how many there are."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if not isinstance(value, _core.Tensor):
        value = convert_to_tensor(value)
    if value.shape.rank == 0:
        return [value]
    return None if value.shape.rank is None or value.shape[0] is None else [value[i] for i in range(value.shape[0])]


def _roll(op, inputs, attributes):
    x = convert_to_tensor(inputs[0])
    shifts, axes = _elements(attributes["shift"]), _elements(attributes["axis"])
    if shifts is None or axes is None or len(shifts) != len(axes):
        return NotImplemented
    for shift, axis in zip(shifts, axes):
        if isinstance(axis, _core.Tensor) and _core.static_value(axis) is None:
            if x.shape.rank is None:
                return NotImplemented
            shape = x.shape
            x = _each_axis(_int32(axis), x.shape.rank, lambda i, x=x, shift=shift: _rolled(x, shift, i))
            x.set_shape(shape)
        else:
            x = _rolled(x, shift, int(axis))
    return x


def _rolled(x, shift, axis):
    """The rows in the order of their places less the shift."""
    size = execute("Shape", x)[axis]
    places = execute("Range", 0, size, 1) - _int32(shift)
    result = execute("GatherV2", x, execute("FloorMod", places, execute("Maximum", size, 1)), axis=axis)
    result.set_shape(x.shape)
    return result


def _linspace(op, inputs, attributes):
    start, stop, axis = (*map(convert_to_tensor, inputs), attributes.get("axis", 0))
    rank, num = start.shape.rank, _scalar(attributes["num"])
    if rank is None or num is None:
        return NotImplemented
    if isinstance(axis, _core.Tensor):
        return _each_axis(_int32(axis), rank + 1, lambda i: execute(op, start, stop, num=attributes["num"], axis=i))
    check.Assert(num > 0, ["LinSpace: num must be positive, got", num])
    axis = axis + rank + 1 if axis < 0 else axis
    start, stop = (execute("ExpandDims", v, axis=axis) for v in (start, stop))
    steps = execute("Cast", execute("Range", 0, num, 1), dtype=start.dtype)
    steps = execute("Reshape", steps, [-1 if d == axis else 1 for d in range(rank + 1)])
    last = execute("Cast", execute("Maximum", num - 1, 1), dtype=start.dtype)
    values = start + (stop - start) / last * steps
    return execute("SelectV2", execute("LogicalAnd", execute("Equal", steps, last), num > 1), stop, values)


def _decode_raw(op, inputs, attributes):
    """Of a length that only a run knows: strings are filled with zeros and cut to it."""
    length, texts = _scalar(attributes.pop("fixed_length")), convert_to_tensor(inputs[0])
    zeros = execute("ReduceJoin", execute("Fill", execute("Reshape", length, [1]), convert_to_tensor(b"\0")))
    long = execute("StringJoin", [texts, execute("BroadcastTo", zeros, execute("Shape", texts))])
    cut = execute("Substr", long, execute("ZerosLike", length), length)
    return execute(op, cut, **attributes)


def _jpeg(op, inputs, attributes):
    quality = _scalar(attributes.pop("quality"))
    from tandem.ops.control_flow import switch_case

    branches = [lambda q=q: execute(op, *inputs, quality=q, **attributes) for q in range(101)]
    return switch_case(execute("ClipByValue", quality, *map(convert_to_tensor, (0, 100))), branches)


_RULES = {
    **{op: _reduced for op in ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any")},
    **{op: _by_axis(0) for op in ("ReduceJoin", "ArgMax", "ArgMin", "Cumsum", "Cumprod", "GatherV2", "ConcatV2")},
    "DecodeRaw": _decode_raw,
    "EncodeJpeg": _jpeg,
    "ExpandDims": _by_axis(0, more=1),
    "LinSpace": _linspace,
    "ReverseV2": _reverse,
    "Roll": _roll,
    "Transpose": _transpose,
}
