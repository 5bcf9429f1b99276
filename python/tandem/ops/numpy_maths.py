"""The rest of tf.experimental.numpy on numbers: elementwise functions, reductions, products of arrays."""

import functools

import numpy as _np

from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import bool as bool_
from tandem.ops import math as _math, numpy_api as _api
from tandem.ops.numpy_api import _default, _floating, _promoted, asarray



def angle(z, deg=False):
    """Angles of complex numbers."""
    z = asarray(z)
    found = _math_angle(z if z.dtype.is_complex else asarray(z, "float32"))
    return found * (180.0 / _np.pi) if deg else found


def _math_angle(x):
    from tandem._support import angle

    return angle(x)


def around(a, decimals=0):
    """Rounded to so many places, halves to even."""
    a = asarray(a)
    given = a.dtype
    if given.is_integer:
        if decimals >= 0:
            return a
        a = asarray(a, _default(_np.float64))
    if abs(decimals) > 300:  # no number has as many places
        return asarray(a, given) if decimals > 0 else execute("ZerosLike", asarray(a, given))
    factor = asarray(10.0 ** abs(decimals), a.dtype)
    found = execute("Round", a * factor) / factor if decimals >= 0 else execute("Round", a / factor) * factor
    return asarray(found, given)


round = around


def array_equal(a1, a2):
    """Whether two arrays have one shape and equal elements."""
    a1, a2 = _promoted(asarray(a1), asarray(a2))
    if a1.shape.rank != a2.shape.rank or not a1.shape.is_compatible_with(a2.shape):
        return asarray(False)
    return execute("All", execute("Equal", a1, a2))


def average(a, axis=None, weights=None, returned=False):
    """Means, by weights where there are some."""
    a = _floating(a)
    if weights is None:
        found = execute("Mean", a, axis=axis)
        count = execute("Cast", execute("Size", a), dtype=a.dtype) / execute("Cast", execute("Size", found), dtype=a.dtype)
        total = execute("BroadcastTo", count, execute("Shape", found))
        return (found, total) if returned else found
    a, weights = _promoted(a, convert_to_tensor(weights))
    if weights.shape.rank != a.shape.rank:
        if axis is None or weights.shape.rank != 1:
            raise ValueError("1D weights expected when shapes of a and weights differ.")
        places = [1] * a.shape.rank
        places[axis] = -1
        weights = execute("Reshape", weights, places)
    weights = execute("BroadcastTo", weights, execute("Shape", a))
    total = execute("Sum", weights, axis=axis)
    found = execute("Sum", a * weights, axis=axis) / total
    return (found, total) if returned else found


def _bits(op):
    def function(x1, x2):
        return execute(op, *_promoted(x1, x2))

    return function


bitwise_and, bitwise_or, bitwise_xor = _bits("BitwiseAnd"), _bits("BitwiseOr"), _bits("BitwiseXor")


def bitwise_not(x):
    """All bits the other way."""
    x = asarray(x)
    return execute("LogicalNot" if x.dtype is bool_ else "Invert", x)


def cbrt(x):
    """Cube roots."""
    x = _floating(x)
    return execute("Sign", x) * execute("Pow", execute("Abs", x), asarray(1.0 / 3.0, x.dtype))


def conj(x):
    """Complex conjugates."""
    x = asarray(x)
    return execute("Conj", x) if x.dtype.is_complex else x


conjugate = conj


def count_nonzero(a, axis=None):
    """How many elements are not zero."""
    return execute("Sum", execute("Cast", asarray(a, bool_), dtype="int64"), axis=axis)


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Products at right angles of vectors of two or three numbers."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _promoted(a, b)
    a, b = _api.moveaxis(a, axisa, -1), _api.moveaxis(b, axisb, -1)
    sizes = a.shape[-1], b.shape[-1]
    if None in sizes:
        return _cross_later(a, b, axisc)
    if not set(sizes) <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    x, y = ([v[..., i] for i in range(v.shape[-1])] for v in (a, b))
    last = x[0] * y[1] - x[1] * y[0]
    if sizes == (2, 2):
        return last
    x, y = (v if len(v) == 3 else [*v, execute("ZerosLike", v[0])] for v in (x, y))
    found = execute("Pack", _promoted(x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], last), axis=-1)
    return _api.moveaxis(found, -1, axisc)


def _cross_later(a, b, axisc):
    """Of vectors along the last dimension that a run knows the length of; one of two numbers has none beside it."""
    a, b = (_with_three(v) for v in (a, b))
    return cross(a, b, axisc=axisc)


def _with_three(v):
    size = execute("Shape", v)[-1]
    three = execute("Maximum", size, 3)  # a longer one is refused where it is given its shape
    pads = [[0, 0]] * (v.shape.rank - 1) + [[0, three - size]]
    v = execute("Pad", v, execute("Reshape", execute("Pack", [n for pair in pads for n in pair], axis=0), [-1, 2]))
    shape = execute("ConcatV2", [execute("Shape", v)[:-1], [3]], axis=0)
    return execute("Reshape", v, shape)


def deg2rad(x):
    """Degrees in radians."""
    return _scaled(x, _np.pi / 180.0)


def rad2deg(x):
    """Radians in degrees."""
    return _scaled(x, 180.0 / _np.pi)


def _scaled(x, factor):
    x = _floating(x)
    return x * asarray(factor, x.dtype)


def divmod(x1, x2):
    """Quotients rounded down, and what is left."""
    return _api.floor_divide(x1, x2), _api.mod(x1, x2)


def exp2(x):
    """Powers of two."""
    x = _floating(x)
    return execute("Pow", asarray(2.0, x.dtype), x)


def fix(x):
    """Rounded towards zero."""
    x = _floating(x)
    return execute("SelectV2", execute("Less", x, asarray(0, x.dtype)), execute("Ceil", x), execute("Floor", x))


def float_power(x1, x2):
    """Powers, in the dtype of the sum as TensorFlow's."""
    return _api.power(x1, x2)


def gcd(x1, x2):
    """Greatest common divisors."""
    x1, x2 = _whole(x1, x2, "gcd")
    from tandem.ops.control_flow import while_loop

    a, b = (execute("BroadcastTo", x, execute("BroadcastArgs", execute("Shape", x1), execute("Shape", x2))) for x in (x1, x2))

    def turn(a, b):
        none = execute("Equal", b, asarray(0, b.dtype))
        safe = execute("SelectV2", none, execute("OnesLike", b), b)
        left = execute("SelectV2", none, execute("ZerosLike", a), execute("FloorMod", a, safe))
        return execute("SelectV2", none, a, b), left

    some = lambda a, b: execute("Any", execute("NotEqual", b, asarray(0, b.dtype)))  # noqa: E731
    return execute("Abs", while_loop(some, turn, [execute("Abs", a), execute("Abs", b)])[0])


def lcm(x1, x2):
    """Least common multiples."""
    x1, x2 = _whole(x1, x2, "lcm")
    common = gcd(x1, x2)
    none = execute("Equal", common, asarray(0, common.dtype))
    quotient = execute("FloorDiv", x1, execute("SelectV2", none, execute("OnesLike", common), common))
    return execute("Abs", execute("SelectV2", none, execute("ZerosLike", common), quotient * x2))


def _whole(x1, x2, name):
    x1, x2 = _promoted(x1, x2)
    if not x1.dtype.is_integer:
        raise TypeError(f"{name}: arguments are whole numbers, got {x1.dtype.name}.")
    return x1, x2


def heaviside(x1, x2):
    """0 below zero, 1 above it, and x2 at zero."""
    x1, x2 = (_floating(x) for x in _promoted(x1, x2))
    zero, one = execute("ZerosLike", x1), execute("OnesLike", x1)
    found = execute("SelectV2", execute("Greater", x1, zero), one, execute("SelectV2", execute("Equal", x1, zero), x2, zero))
    return execute("SelectV2", execute("IsNan", x1), x1, found)


def hypot(x1, x2):
    """The long sides of triangles."""
    x1, x2 = (_floating(x) for x in _promoted(x1, x2))
    return execute("Sqrt", execute("Square", x1) + execute("Square", x2))


def imag(val):
    """Imaginary parts."""
    val = asarray(val)
    return execute("Imag", val) if val.dtype.is_complex else execute("ZerosLike", val)


def real(val):
    """Real parts."""
    val = asarray(val)
    return execute("Real", val) if val.dtype.is_complex else val


def inner(a, b):
    """Sums of products over the last axes."""
    a, b = _promoted(a, b)
    if a.shape.rank == 0 or b.shape.rank == 0:
        return a * b
    return _math.tensordot(a, b, [[a.shape.rank - 1], [b.shape.rank - 1]])


def iscomplex(x):
    """Whether numbers have an imaginary part."""
    return execute("NotEqual", imag(x), asarray(0, imag(x).dtype))


def isreal(x):
    """Whether numbers have no imaginary part."""
    return execute("Equal", imag(x), asarray(0, imag(x).dtype))


def iscomplexobj(x):
    """Whether the dtype is complex."""
    return asarray(x).dtype.is_complex


def isrealobj(x):
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def isneginf(x):
    """Whether numbers are negative infinity."""
    return execute("Equal", _floating(x), asarray(-_np.inf, _floating(x).dtype))


def isposinf(x):
    """Whether numbers are infinity."""
    return execute("Equal", _floating(x), asarray(_np.inf, _floating(x).dtype))


def isscalar(num):
    """Whether it is one number, text or bytes."""
    if hasattr(num, "shape") and hasattr(num, "dtype"):
        return len(num.shape) == 0
    return _np.isscalar(num)


def kron(a, b):
    """Every element of a times all of b."""
    a, b = _promoted(a, b)
    if a.shape.rank is None or b.shape.rank is None:
        raise ValueError(f"kron: the number of dimensions must be known, got {a.shape} and {b.shape}.")
    rank = max(a.shape.rank, b.shape.rank)
    sizes = [execute("Pad", execute("Shape", x), [[rank - x.shape.rank, 0]]) for x in (a, b)]
    ones = [convert_to_tensor([1] * (rank - x.shape.rank) + [0] * x.shape.rank, "int32") for x in (a, b)]
    sizes = [s + o for s, o in zip(sizes, ones)]
    one = execute("OnesLike", sizes[0])
    wide = (execute("Reshape", execute("Pack", pair, axis=1), [-1]) for pair in ((sizes[0], one), (one, sizes[1])))
    product = execute("Reshape", a, next(wide)) * execute("Reshape", b, next(wide))
    return execute("Reshape", product, sizes[0] * sizes[1])


def logaddexp(x1, x2):
    """Logarithms of sums of powers."""
    return _log_sum(x1, x2, 1.0)


def logaddexp2(x1, x2):
    """The same to base two."""
    return _log_sum(x1, x2, _np.log(2.0))


def _log_sum(x1, x2, scale):
    x1, x2 = (_floating(x) for x in _promoted(x1, x2))
    most, scale = execute("Maximum", x1, x2), asarray(scale, x1.dtype)
    far = execute("Neg", execute("Abs", x1 - x2)) * scale
    found = most + execute("Log1p", execute("Exp", far)) / scale
    return execute("SelectV2", execute("IsNan", x1 - x2), x1 + x2, found)


def logical_xor(x1, x2):
    """Whether exactly one holds."""
    return execute("NotEqual", asarray(x1, bool_), asarray(x2, bool_))


def _without_nan(a, dtype, value):
    a = asarray(a, dtype)
    if not (a.dtype.is_floating or a.dtype.is_complex):
        return a, None
    nan = execute("IsNan", real(a)) if a.dtype.is_complex else execute("IsNan", a)
    return execute("SelectV2", nan, asarray(value, a.dtype), a), nan


def nansum(a, axis=None, dtype=None, keepdims=False):
    """Sums of what is a number."""
    return _api.sum(_without_nan(a, dtype, 0)[0], axis, dtype, keepdims)


def nanprod(a, axis=None, dtype=None, keepdims=False):
    """Products of what is a number."""
    return _api.prod(_without_nan(a, dtype, 1)[0], axis, dtype, keepdims)


def nanmean(a, axis=None, dtype=None, keepdims=None):
    """Means of what is a number."""
    values, nan = _without_nan(a, dtype, 0)
    if nan is None:
        return _api.mean(values, axis, dtype, keepdims)
    there = execute("Cast", execute("LogicalNot", nan), dtype=values.dtype)
    return _api.sum(values, axis, None, keepdims) / _api.sum(there, axis, None, keepdims)


def nextafter(x1, x2):
    """The next number towards another."""
    return execute("NextAfter", *(_floating(x) for x in _promoted(x1, x2)))


def polyval(p, x):
    """The value of a polynomial, by Horner's rule."""
    p, x = _promoted(p, x)
    if p.shape.rank is None or (p.shape.rank and p.shape[0] is None):
        raise ValueError(f"polyval: the number of coefficients must be known, got shape {p.shape}.")
    rows = execute("Unpack", p, num=p.shape[0], axis=0) if p.shape.rank else [p]
    return functools.reduce(lambda total, c: total * x + c, rows[1:], execute("ZerosLike", x) + rows[0])


def positive(x):
    """As they are."""
    return execute("Identity", asarray(x))


def ptp(a, axis=None, keepdims=None):
    """The largest without the smallest."""
    return _api.max(a, axis, None, keepdims) - _api.min(a, axis, None, keepdims)


def signbit(x):
    """Whether numbers are below zero; zero is not, whatever its sign."""
    x = asarray(x)
    x = asarray(x, "int64") if x.dtype is bool_ else x
    return execute("Less", x, asarray(0, x.dtype))


def sinc(x):
    """sin(πx) / (πx), one at zero."""
    x = _floating(x) * asarray(_np.pi, _floating(x).dtype)
    none = execute("Equal", x, asarray(0, x.dtype))
    safe = execute("SelectV2", none, execute("OnesLike", x), x)
    return execute("SelectV2", none, execute("OnesLike", x), execute("Sin", safe) / safe)


def vdot(a, b):
    """The sum of products of all elements; those of a are conjugated."""
    a, b = _promoted(a, b)
    a, b = _api.ravel(a), _api.ravel(b)
    return execute("Sum", conj(a) * b)
