"""Which public functions are elementwise, and which function an op belongs to: for dispatch to users' types."""

import functools
import importlib

_UNARY = """
    bitwise.invert clip_by_value debugging.check_numerics dtypes.cast dtypes.saturate_cast image.adjust_brightness
    image.adjust_gamma image.convert_image_dtype image.random_brightness image.stateless_random_brightness
    io.decode_base64 io.decode_compressed io.encode_base64 math.abs math.acos math.acosh math.angle math.asin
    math.asinh math.atan math.atanh math.ceil math.conj math.cos math.cosh math.digamma math.erf math.erfc
    math.erfcinv math.erfinv math.exp math.expm1 math.floor math.imag math.is_finite math.is_inf math.is_nan
    math.lgamma math.log math.log1p math.log_sigmoid math.logical_not math.ndtri math.negative math.nextafter
    math.real math.reciprocal math.reciprocal_no_nan math.rint math.round math.rsqrt math.sigmoid math.sign math.sin
    math.sinh math.softplus math.softsign math.special.bessel_i0 math.special.bessel_i0e math.special.bessel_i1
    math.special.bessel_i1e math.special.bessel_j0 math.special.bessel_j1 math.special.bessel_k0
    math.special.bessel_k0e math.special.bessel_k1 math.special.bessel_k1e math.special.bessel_y0
    math.special.bessel_y1 math.special.dawsn math.special.expint math.special.fresnel_cos math.special.fresnel_sin
    math.special.spence math.sqrt math.square math.tan math.tanh nn.elu nn.gelu nn.leaky_relu nn.relu nn.relu6
    nn.selu nn.silu nn.softsign ones_like strings.as_string strings.length strings.lower strings.regex_full_match
    strings.regex_replace strings.strip strings.substr strings.to_hash_bucket strings.to_hash_bucket_fast
    strings.to_hash_bucket_strong strings.to_number strings.unicode_script strings.unicode_transcode strings.upper
    zeros_like
""".split()
_BINARY = """
    bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift dtypes.complex
    math.add math.atan2 math.divide math.divide_no_nan math.equal math.floordiv math.floormod math.greater
    math.greater_equal math.less math.less_equal math.logical_and math.logical_or math.logical_xor math.maximum
    math.minimum math.multiply math.multiply_no_nan math.not_equal math.pow math.scalar_mul math.squared_difference
    math.subtract math.truediv math.xdivy math.xlog1py math.xlogy math.zeta nn.sigmoid_cross_entropy_with_logits
    realdiv truncatediv truncatemod
""".split()
_ASSERT = """
    debugging.assert_equal debugging.assert_greater debugging.assert_greater_equal debugging.assert_less
    debugging.assert_less_equal debugging.assert_near debugging.assert_none_equal
""".split()
_LISTS = {"unary": _UNARY, "binary": _BINARY, "assert": _ASSERT}

# The functions behind operators of tensors.
_OF_OPS = {
    "Add": "math.add", "AddV2": "math.add", "Sub": "math.subtract", "Mul": "math.multiply", "RealDiv": "math.truediv",
    "FloorDiv": "math.floordiv", "FloorMod": "math.floormod", "Pow": "math.pow", "Less": "math.less",
    "LessEqual": "math.less_equal", "Greater": "math.greater", "GreaterEqual": "math.greater_equal",
    "Equal": "math.equal", "NotEqual": "math.not_equal", "LogicalAnd": "math.logical_and",
    "LogicalOr": "math.logical_or", "BatchMatMulV2": "linalg.matmul", "MatMul": "linalg.matmul",
    "Maximum": "math.maximum", "Minimum": "math.minimum",
}  # fmt: skip


@functools.cache
def functions(kind):
    """The functions of a kind that are there, each once."""
    found = {}
    for name in _LISTS[kind]:
        function = _named(name)
        if function is not None:
            found[id(function)] = function
    return tuple(found.values())


def function_of_op(op):
    name = _OF_OPS.get(op)
    return None if name is None else _named(name)


def _named(name):
    value = importlib.import_module("tandem")
    for part in name.split("."):
        value = getattr(value, part, None)
        if value is None or getattr(value, "absent", False):
            return None
    return value
