"""tf.quantization: numbers rounded to those that a few bits can hold, as training for such bits needs. The gradient
passes where a number lay within the range, and belongs to the range's ends where it did not."""

import collections

from tandem._core import convert_to_tensor, execute
from tandem.framework.gradients import custom_gradient


_ENDS = ["backprops_wrt_input", "backprop_wrt_min", "backprop_wrt_max"]
FakeQuantWithMinMaxVarsGradient = collections.namedtuple("FakeQuantWithMinMaxVarsGradient", _ENDS)
FakeQuantWithMinMaxVarsPerChannelGradient = collections.namedtuple("FakeQuantWithMinMaxVarsPerChannelGradient", _ENDS)


def _range(low, high, num_bits, narrow):
    """The range moved so that zero is one of its steps: (low, high, step)."""
    least, most = float(1 if narrow else 0), float(2**num_bits - 1)
    step = (high - low) / (most - least)
    zero = least - low / step
    rounded = execute("Floor", zero + 0.5)
    rounded = execute("SelectV2", execute("Less", zero, least), execute("ZerosLike", zero) + least, rounded)
    rounded = execute("SelectV2", execute("Greater", zero, most), execute("ZerosLike", zero) + most, rounded)
    return (least - rounded) * step, (most - rounded) * step, step


def _rounded(x, low, high, num_bits, narrow):
    """The nearest steps of a range that holds only zero give zeros."""
    from_zero = execute("LogicalAnd", execute("Equal", low, 0.0), execute("Equal", high, 0.0))
    low, high, step = _range(low, execute("SelectV2", from_zero, execute("OnesLike", high), high), num_bits, narrow)
    inside = execute("Minimum", execute("Maximum", x, low), high) - low
    found = execute("Floor", inside / step + 0.5) * step + low
    return execute("SelectV2", from_zero, execute("ZerosLike", found), found)


def _check(num_bits):
    if not 2 <= num_bits <= 16:
        from tandem.framework.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, f"num_bits must be between 2 and 16, inclusive, got {num_bits}.")


def _gradients(dy, x, low, high, num_bits, narrow, axes):
    """Of the numbers and of both ends of the range."""
    zeros = execute("LogicalAnd", execute("Equal", low, 0.0), execute("Equal", high, 0.0))
    least, most, _ = _range(low, execute("SelectV2", zeros, execute("OnesLike", high), high), num_bits, narrow)
    below, above = execute("Less", x, least), execute("Greater", x, most)
    none = execute("ZerosLike", dy)
    inside = execute("LogicalNot", execute("LogicalOr", below, above))
    dx = execute("SelectV2", execute("LogicalOr", inside, zeros), dy, none)
    ends = (execute("Sum", execute("SelectV2", execute("LogicalAnd", side, execute("LogicalNot", zeros)), dy, none), axis=axes) for side in (below, above))
    return dx, *ends


def fake_quant_with_min_max_args(inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
    """Rounded within a range of numbers."""
    _check(num_bits)
    x = convert_to_tensor(inputs, "float32")
    low, high = convert_to_tensor(float(min)), convert_to_tensor(float(max))

    @custom_gradient
    def function(x):
        return _rounded(x, low, high, num_bits, narrow_range), lambda dy: _gradients(dy, x, low, high, num_bits, narrow_range, None)[0]

    return function(x)


def fake_quant_with_min_max_args_gradient(gradients, inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
    """The gradient of the numbers."""
    _check(num_bits)
    low, high = convert_to_tensor(float(min)), convert_to_tensor(float(max))
    return _gradients(convert_to_tensor(gradients), convert_to_tensor(inputs), low, high, num_bits, narrow_range, None)[0]


def _with_vars(inputs, low, high, num_bits, narrow, axes):
    _check(num_bits)

    @custom_gradient
    def function(x, low, high):
        return _rounded(x, low, high, num_bits, narrow), lambda dy: _gradients(dy, x, low, high, num_bits, narrow, axes)

    return function(*(convert_to_tensor(v, "float32") for v in (inputs, low, high)))


def fake_quant_with_min_max_vars(inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """Rounded within a range that is learned."""
    return _with_vars(inputs, min, max, num_bits, narrow_range, None)


def fake_quant_with_min_max_vars_gradient(gradients, inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """The gradients of the numbers and of both ends."""
    _check(num_bits)
    given = (convert_to_tensor(v, "float32") for v in (gradients, inputs, min, max))
    return FakeQuantWithMinMaxVarsGradient(*_gradients(*given, num_bits, narrow_range, None))


def fake_quant_with_min_max_vars_per_channel(inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """The same with a range for each channel."""
    inputs = convert_to_tensor(inputs, "float32")
    return _with_vars(inputs, min, max, num_bits, narrow_range, list(range(inputs.shape.rank - 1)))


def fake_quant_with_min_max_vars_per_channel_gradient(gradients, inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """The gradients with a range for each channel."""
    _check(num_bits)
    given = [convert_to_tensor(v, "float32") for v in (gradients, inputs, min, max)]
    axes = list(range(given[1].shape.rank - 1))
    return FakeQuantWithMinMaxVarsPerChannelGradient(*_gradients(*given, num_bits, narrow_range, axes))


def quantize_and_dequantize_v2(
    input, input_min, input_max, signed_input=True, num_bits=8, range_given=False, round_mode="HALF_TO_EVEN", name=None,
    narrow_range=False, axis=None,
):  # fmt: skip
    """Rounded to whole multiples of one step, the largest number of the range being the largest multiple."""
    x = convert_to_tensor(input)
    if not 1 <= num_bits <= 63:
        from tandem.framework.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, f"num_bits is out of range: {num_bits} with signed_input {signed_input}")
    if axis is not None and not -(x.shape.rank or 0) <= axis < (x.shape.rank or 0):
        raise ValueError(f"Axis should be in [-rank, rank) of the input, got {axis} for shape {x.shape}.")
    axes = None if axis is None else [i for i in range(x.shape.rank) if i != axis % x.shape.rank]
    if range_given:
        wide = [1] * x.shape.rank
        if axis is not None:
            wide[axis] = -1
        low, high = (convert_to_tensor(v, x.dtype) for v in (input_min, input_max))
        low, high = (execute("Reshape", v, wide) if axis is not None else v for v in (low, high))
    else:
        low, high = (execute(op, x, axis=axes, keepdims=axis is not None) for op in ("Min", "Max"))
    most = 2.0 ** (num_bits - 1) - 1 if signed_input else 2.0**num_bits - 1
    least = (-most if narrow_range else -(2.0 ** (num_bits - 1))) if signed_input else 0.0
    per_high = execute("SelectV2", execute("Greater", high, 0.0), most / high, execute("ZerosLike", high) + float("inf"))
    per_low = execute("SelectV2", execute("Less", low * least, 0.0) if not least else execute("Greater", low * least, 0.0),
                      least / low, execute("ZerosLike", low) + float("inf"))  # fmt: skip
    scale = execute("Minimum", per_high, per_low)
    scale = execute("SelectV2", execute("IsInf", scale), execute("OnesLike", scale), scale)
    least_kept, most_kept = least / scale, most / scale

    @custom_gradient
    def function(x):
        inside = execute("Minimum", execute("Maximum", x, least_kept), most_kept) * scale
        turned = execute("Round", inside) if round_mode == "HALF_TO_EVEN" else execute("Floor", inside + 0.5)
        kept = execute("LogicalAnd", execute("LessEqual", x, most_kept), execute("GreaterEqual", x, least_kept))
        return turned / scale, lambda dy: execute("SelectV2", kept, dy, execute("ZerosLike", dy))

    return function(x)


def quantize_and_dequantize(
    input, input_min, input_max, signed_input=True, num_bits=8, range_given=False, round_mode="HALF_TO_EVEN", name=None,
    narrow_range=False, axis=None,
):  # fmt: skip
    """quantize_and_dequantize_v2 whose gradient passes everywhere."""
    x = convert_to_tensor(input)
    straight = custom_gradient(
        lambda x: (
            quantize_and_dequantize_v2(x, input_min, input_max, signed_input, num_bits, range_given, round_mode, None, narrow_range, axis),
            lambda dy: dy,
        )
    )
    return straight(x)
