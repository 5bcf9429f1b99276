"""How far elementwise functions are from the true values, in units in the last place.

`measure(tf)` serves TensorFlow and Tandem alike; tools/reference/make_ulp_reference.py stores the errors of both.
References are 80-bit floats, whose own error is 0.002 ulp of a float64, and mpmath's numbers where libm has no such
function.
"""

import json
import pathlib

import mpmath
import numpy as np

LONG = np.longdouble
HALF_PI = LONG("1.5707963267948966192313216916397514")
DTYPES = ("float16", "bfloat16", "float32", "float64")
DIGITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}  # bits behind the leading one
LOWEST = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}  # exponent of the smallest normal
HIGHEST = {"float16": 15, "bfloat16": 127, "float32": 127, "float64": 1023}
FACTS = pathlib.Path(__file__).parent / "data/ulp.json"  # errors on a CPU: [TensorFlow's, ours] of each range
# Ulp that are allowed even where TensorFlow has less: one for a function that rounds correctly twice; on a GPU, what
# CUDA states for tan, pow and erfc of float32, which TensorFlow calls there too.
LEAST_ON_CPU, LEAST_ON_GPU = 1.0, 4.0
# Ulp that are allowed even where we had less, of functions that call glibc's vector functions or libm's complex ones:
# what glibc promises for the former. Their bits depend on the processor and on the release of glibc.
LEAST_OF_GLIBC = 4.0
QUICK, MANY, FEW = 2000, 40000, 50  # elements: in a test, for stored facts, for functions of mpmath


def rounded(values, dtype):
    """To the nearest number of the dtype, as 80-bit floats."""
    values = np.asarray(values, LONG)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(values)[1] - 1, LOWEST[dtype]) - DIGITS[dtype]
        result = np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent)
        result = np.where(np.abs(result) >= LONG(2) ** (HIGHEST[dtype] + 1), np.copysign(LONG("inf"), values), result)
    return np.where(np.isfinite(values), result, values)


def errors(got, wanted, dtype):
    """Of every element, in ulp of the wanted value. What is NaN or infinite on one side alone is infinitely far."""
    got, wanted = np.asarray(got, LONG), np.asarray(wanted, LONG)
    unit = np.ldexp(LONG(1), np.maximum(np.frexp(wanted)[1] - 1, LOWEST[dtype]) - DIGITS[dtype])
    with np.errstate(all="ignore"):
        error = np.abs(got - wanted) / unit
    error = np.where(rounded(wanted, dtype) == got, np.minimum(np.nan_to_num(error, nan=0.5), 0.5), error)
    return np.where(np.isnan(got) & np.isnan(wanted), 0, np.where(np.isnan(error), np.inf, error))


class Ranges:
    """Random inputs, `n` of each kind, as 80-bit floats that the dtype holds."""

    def __init__(self, dtype, n, seed):
        self.dtype, self.n, self.random = dtype, n, np.random.default_rng(seed)
        self.low, self.high, self.digits = LOWEST[dtype], HIGHEST[dtype], DIGITS[dtype]

    def uniform(self, a, b):
        return rounded(self.random.uniform(a, b, self.n), self.dtype)

    def signs(self, values):
        return values * self.random.choice([-1, 1], self.n)

    def scaled(self, a, b):
        """Positive, of exponents a to b."""
        exponent = self.random.integers(max(a, self.low), min(b, self.high), self.n, endpoint=True)
        return rounded(np.ldexp(LONG(1) + self.random.random(self.n), exponent), self.dtype)

    def tiny(self):
        """Subnormal and the smallest normal numbers, positive."""
        exponent = self.random.integers(self.low - self.digits, self.low + 2, self.n, endpoint=True)
        return rounded(np.ldexp(LONG(1) + self.random.random(self.n), exponent), self.dtype)

    def near(self, value):
        """`value` and neighbours at all distances."""
        away = np.ldexp(LONG(1) + self.random.random(self.n), self.random.integers(-self.digits - 1, -2, self.n))
        return rounded(LONG(value) * (1 + self.signs(away)), self.dtype)

    def quarters(self, most):
        """The numbers nearest to multiples of pi/2 and their neighbours."""
        times = np.floor(np.exp2(self.random.uniform(0, most, self.n)))
        at = rounded(times * HALF_PI, self.dtype)
        step = np.ldexp(LONG(1), np.frexp(at)[1] - 1 - self.digits) * self.random.integers(-2, 2, self.n, endpoint=True)
        return rounded(at + step, self.dtype)


def _reals(r):
    return {"usual": r.uniform(-10, 10), "small": r.signs(r.scaled(-30, 0)), "tiny": r.signs(r.tiny())}


def _all(r):
    return _reals(r) | {"any": r.signs(r.scaled(-1100, 1100))}


def _positive(r):
    return {"usual": r.uniform(0.01, 10), "near 1": r.near(1), "any": r.scaled(-1100, 1100), "tiny": r.tiny()}


def _exponents(r):
    most, least = np.log(2.0) * (r.high + 1), np.log(2.0) * (r.low - r.digits)
    lowest = np.log(2.0) * r.low
    return _reals(r) | {"wide": r.uniform(0.99 * lowest, most), "subnormal results": r.uniform(least, lowest)}


def _angles(r):
    turns = {"quarters": r.quarters(min(r.high, 20) - 2)}
    if r.high > 20:
        turns |= {"large": r.signs(r.scaled(8, 30)), "huge": r.signs(r.scaled(30, 1100))}
        turns |= {"far quarters": r.quarters(60)}
    return _reals(r) | turns


def _unit(r):
    near = {"near 1": r.signs(np.minimum(r.near(1), 1)), "small": r.signs(r.scaled(-30, -1))}
    return {"usual": r.uniform(-1, 1)} | near | {"tiny": r.signs(r.tiny())}


def _above_minus_one(r):
    near = {"near -1": np.maximum(r.near(-1), -1), "small": r.signs(r.scaled(-30, -1))}
    return {"usual": r.uniform(-0.99, 10)} | near | {"any": r.scaled(-1100, 1100), "tiny": r.signs(r.tiny())}


def _above_one(r):
    return {"usual": r.uniform(1, 10), "near 1": np.maximum(r.near(1), 1), "any": r.scaled(0, 1100)}


def _hyperbolic(r):
    most = np.log(2.0) * (r.high + 1)
    return _reals(r) | {"wide": r.uniform(-most, most)}


def _errors(r):
    return {"usual": r.uniform(-5, 5), "small": r.signs(r.scaled(-30, 0)), "tiny": r.signs(r.tiny())}


def _special(r):
    return {"usual": r.uniform(0.1, 20), "near 1": r.near(1), "near 2": r.near(2)}


def _probabilities(r):
    return {"usual": r.uniform(0.001, 0.999), "small": r.scaled(-30, -2)}


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _softplus(x):
    return np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x)))


SELU, SELU_ALPHA = LONG("1.0507009873554804934193349852946"), LONG("1.7580993408473768599402175208123")
SQRT_2_OVER_PI = LONG("0.79788456080286535587989211986876")


def _gelu_tanh(x):
    return x * (1 + np.tanh(SQRT_2_OVER_PI * (x + LONG("0.044715") * x**3))) / 2


def _by_mpmath(function):
    def run(*arrays):
        with mpmath.workdps(40):
            return np.array([LONG(mpmath.nstr(mpmath.mpf(function(*map(_exactly, x))), 25)) for x in zip(*arrays)])

    return run


def _exactly(x):
    mantissa, exponent = np.frexp(x)
    return mpmath.ldexp(mpmath.mpf(int(np.ldexp(mantissa, 64))), int(exponent) - 64)


def _normal_cdf(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _floormod(x, y):
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


# Name, inputs, the function of `tf`, the reference. Those of mpmath get FEW elements.
UNARY = {
    "exp": (_exponents, lambda tf: tf.exp, np.exp),
    "expm1": (_exponents, lambda tf: tf.math.expm1, np.expm1),
    "log": (_positive, lambda tf: tf.math.log, np.log),
    "log1p": (_above_minus_one, lambda tf: tf.math.log1p, np.log1p),
    "sin": (_angles, lambda tf: tf.sin, np.sin),
    "cos": (_angles, lambda tf: tf.cos, np.cos),
    "tan": (_angles, lambda tf: tf.tan, np.tan),
    "asin": (_unit, lambda tf: tf.asin, np.arcsin),
    "acos": (_unit, lambda tf: tf.acos, np.arccos),
    "atan": (_all, lambda tf: tf.atan, np.arctan),
    "sinh": (_hyperbolic, lambda tf: tf.sinh, np.sinh),
    "cosh": (_hyperbolic, lambda tf: tf.cosh, np.cosh),
    "tanh": (_all, lambda tf: tf.tanh, np.tanh),
    "asinh": (_all, lambda tf: tf.asinh, np.arcsinh),
    "acosh": (_above_one, lambda tf: tf.acosh, np.arccosh),
    "atanh": (_unit, lambda tf: tf.atanh, np.arctanh),
    "sqrt": (_positive, lambda tf: tf.sqrt, np.sqrt),
    "rsqrt": (_positive, lambda tf: tf.math.rsqrt, lambda x: 1 / np.sqrt(x)),
    "reciprocal": (_all, lambda tf: tf.math.reciprocal, lambda x: 1 / x),
    "square": (_all, lambda tf: tf.square, lambda x: x * x),
    "sigmoid": (_exponents, lambda tf: tf.sigmoid, _sigmoid),
    "log_sigmoid": (_reals, lambda tf: tf.math.log_sigmoid, lambda x: -_softplus(-x)),
    "softplus": (_exponents, lambda tf: tf.math.softplus, _softplus),
    "softsign": (_all, lambda tf: tf.nn.softsign, lambda x: x / (1 + np.abs(x))),
    "elu": (_reals, lambda tf: tf.nn.elu, lambda x: np.where(x > 0, x, np.expm1(x))),
    "selu": (_reals, lambda tf: tf.nn.selu, lambda x: np.where(x > 0, SELU * x, SELU_ALPHA * np.expm1(x))),
    "silu": (_reals, lambda tf: tf.nn.silu, lambda x: x * _sigmoid(x)),
    "gelu, approximate": (_errors, lambda tf: lambda x: tf.nn.gelu(x, approximate=True), _gelu_tanh),
    "leaky_relu": (_all, lambda tf: lambda x: tf.nn.leaky_relu(x, 0.25), lambda x: np.where(x > 0, x, x / 4)),
}
BINARY = {
    "pow": (lambda tf: tf.pow, np.power),
    "atan2": (lambda tf: tf.atan2, np.arctan2),
    "xlogy": (lambda tf: tf.math.xlogy, lambda x, y: x * np.log(y)),
    "xlog1py": (lambda tf: tf.math.xlog1py, lambda x, y: x * np.log1p(y)),
    "xdivy": (lambda tf: tf.math.xdivy, lambda x, y: x / y),
    "divide": (lambda tf: tf.divide, lambda x, y: x / y),
    "divide_no_nan": (lambda tf: tf.math.divide_no_nan, lambda x, y: x / y),
    "floordiv": (lambda tf: tf.math.floordiv, lambda x, y: np.floor(x / y)),
    "truncatediv": (lambda tf: lambda x, y: tf.raw_ops.TruncateDiv(x=x, y=y), lambda x, y: np.trunc(x / y)),
    "floormod": (lambda tf: tf.math.floormod, _floormod),
    "truncatemod": (lambda tf: tf.truncatemod, np.fmod),
    "add": (lambda tf: tf.add, lambda x, y: x + y),
    "subtract": (lambda tf: tf.subtract, lambda x, y: x - y),
    "multiply_no_nan": (lambda tf: tf.math.multiply_no_nan, lambda x, y: x * y),
    "multiply": (lambda tf: tf.multiply, lambda x, y: x * y),
    "squared_difference": (lambda tf: tf.math.squared_difference, lambda x, y: (x - y) ** 2),
}
SPECIAL = {
    "erf": (_errors, lambda tf: tf.math.erf, mpmath.erf),
    "erfc": (lambda r: _errors(r) | {"usual": r.uniform(-5, 8)}, lambda tf: tf.math.erfc, mpmath.erfc),
    "erfinv": (_unit, lambda tf: tf.math.erfinv, mpmath.erfinv),
    "gelu": (_errors, lambda tf: lambda x: tf.nn.gelu(x, approximate=False), lambda x: x * _normal_cdf(x)),
    "erfcinv": (_probabilities, lambda tf: tf.math.erfcinv, lambda p: mpmath.erfinv(1 - p)),
    "ndtri": (_probabilities, lambda tf: tf.math.ndtri, lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)),
    "lgamma": (_special, lambda tf: tf.math.lgamma, mpmath.loggamma),
    "digamma": (lambda r: _special(r) | {"usual": r.uniform(2, 20)}, lambda tf: tf.math.digamma, mpmath.digamma),
    "bessel_i0": (_special, lambda tf: tf.math.bessel_i0, lambda x: mpmath.besseli(0, x)),
    "bessel_i1": (_special, lambda tf: tf.math.bessel_i1, lambda x: mpmath.besseli(1, x)),
    "bessel_k0": (_special, lambda tf: tf.math.special.bessel_k0, lambda x: mpmath.besselk(0, x)),
    "bessel_k1": (_special, lambda tf: tf.math.special.bessel_k1, lambda x: mpmath.besselk(1, x)),
    "bessel_i0e": (_special, lambda tf: tf.math.bessel_i0e, lambda x: mpmath.besseli(0, x) * mpmath.exp(-x)),
    "bessel_i1e": (_special, lambda tf: tf.math.bessel_i1e, lambda x: mpmath.besseli(1, x) * mpmath.exp(-x)),
    "bessel_k0e": (_special, lambda tf: tf.math.special.bessel_k0e, lambda x: mpmath.besselk(0, x) * mpmath.exp(x)),
    "bessel_k1e": (_special, lambda tf: tf.math.special.bessel_k1e, lambda x: mpmath.besselk(1, x) * mpmath.exp(x)),
    "bessel_j0": (_special, lambda tf: tf.math.special.bessel_j0, lambda x: mpmath.besselj(0, x)),
    "bessel_j1": (_special, lambda tf: tf.math.special.bessel_j1, lambda x: mpmath.besselj(1, x)),
    "bessel_y0": (_special, lambda tf: tf.math.special.bessel_y0, lambda x: mpmath.bessely(0, x)),
    "bessel_y1": (_special, lambda tf: tf.math.special.bessel_y1, lambda x: mpmath.bessely(1, x)),
    "dawsn": (
        _special,
        lambda tf: tf.math.special.dawsn,
        lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x),
    ),
    "expint": (_special, lambda tf: tf.math.special.expint, mpmath.ei),
    "spence": (_special, lambda tf: tf.math.special.spence, lambda x: mpmath.re(mpmath.polylog(2, 1 - x))),
}
# Functions of several arguments: their ranges, too.
SPECIAL2 = {
    "igamma": (
        lambda r: (r.uniform(0.1, 10), r.uniform(0.1, 10)),
        lambda tf: tf.math.igamma,
        lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    ),
    "igammac": (
        lambda r: (r.uniform(0.1, 10), r.uniform(0.1, 10)),
        lambda tf: tf.math.igammac,
        lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True),
    ),
    "zeta": (lambda r: (r.uniform(1.1, 10), r.uniform(0.1, 10)), lambda tf: tf.math.zeta, mpmath.zeta),
    "polygamma": (
        lambda r: (np.floor(r.uniform(0, 6)), r.uniform(2, 20)),
        lambda tf: tf.math.polygamma,
        lambda n, x: mpmath.psi(int(n), x),
    ),
    "betainc": (
        lambda r: (r.uniform(0.1, 10), r.uniform(0.1, 10), r.uniform(0.01, 0.99)),
        lambda tf: tf.math.betainc,
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    ),
}
# Of the absolute value of the result, unless the result is real.
COMPLEX = {
    **{name: (lambda tf, name=name: getattr(tf.math, name), function) for name, function in {
        "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
        "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
        "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    }.items()},
    "rsqrt": (lambda tf: tf.math.rsqrt, lambda z: 1 / np.sqrt(z)),
    "reciprocal": (lambda tf: tf.math.reciprocal, lambda z: 1 / z),
    "square": (lambda tf: tf.square, lambda z: z * z),
    "sigmoid": (lambda tf: tf.sigmoid, lambda z: 1 / (1 + np.exp(-z))),
    "sign": (lambda tf: tf.sign, lambda z: z / np.abs(z)),
    "abs": (lambda tf: tf.abs, np.abs),
    "angle": (lambda tf: tf.math.angle, np.angle),
}  # fmt: skip
COMPLEX2 = {
    "add": (lambda tf: tf.add, lambda x, y: x + y),
    "subtract": (lambda tf: tf.subtract, lambda x, y: x - y),
    "multiply": (lambda tf: tf.multiply, lambda x, y: x * y),
    "multiply_no_nan": (lambda tf: tf.math.multiply_no_nan, lambda x, y: x * y),
    "divide": (lambda tf: tf.divide, lambda x, y: x / y),
    "divide_no_nan": (lambda tf: tf.math.divide_no_nan, lambda x, y: x / y),
    "xdivy": (lambda tf: tf.math.xdivy, lambda x, y: x / y),
    "xlogy": (lambda tf: tf.math.xlogy, lambda x, y: x * np.log(y)),
    "xlog1py": (lambda tf: tf.math.xlog1py, lambda x, y: x * np.log1p(y)),
    "pow": (lambda tf: tf.pow, np.power),
    "squared_difference": (lambda tf: tf.math.squared_difference, lambda x, y: np.abs(x - y) ** 2 + 0j),
}
# Also with numbers whose squares overflow and vanish.
WIDE = ("sqrt", "rsqrt", "log", "reciprocal", "sign", "abs", "angle", "divide", "divide_no_nan", "xdivy")

# The bits of these are our own on every processor, or come from one rounding, or from libm's scalar functions of
# doubles, which all releases of glibc have within an ulp.
OURS_ALONE = {
    *"exp log cosh tan sqrt rsqrt reciprocal square sigmoid softsign silu leaky_relu xlogy xdivy divide".split(),
    *"divide_no_nan floordiv truncatediv floormod truncatemod add subtract multiply multiply_no_nan".split(),
    "squared_difference",
    *"erfinv erfcinv ndtri lgamma digamma dawsn expint spence igamma igammac zeta polygamma betainc".split(),
    *(f"bessel_{kind}{order}{e}" for kind in "ik" for order in "01" for e in ("", "e")),
    *(f"complex {name}" for name in "abs angle reciprocal square add subtract multiply multiply_no_nan".split()),
    *(f"complex {name}" for name in "divide divide_no_nan xdivy squared_difference".split()),
}
OURS_ALONE_IN_DOUBLE = {"sin", "cos", "asin", "acos"}


RARE = {*SPECIAL, *SPECIAL2} - {"erf", "erfc", "lgamma", "digamma", "gelu"}  # no half precision in TensorFlow


def _pairs(name, r):
    if name == "pow":
        return {
            "usual": (r.uniform(0.1, 10), r.uniform(-4, 4)),
            "near 1": (r.near(1), r.uniform(-100, 100)),
            "wide": (r.scaled(-1100, 1100), r.uniform(-0.99, 0.99)),
        }
    if name in ("xlogy", "xlog1py"):
        return {"usual": (r.uniform(-10, 10), r.uniform(0.1, 10)), "near 1": (r.uniform(-10, 10), r.near(1))}
    usual = {"usual": (r.uniform(-10, 10), r.uniform(-10, 10))}
    # A quotient that no dtype holds exactly may be rounded to the next whole number.
    if name in ("floordiv", "truncatediv"):
        return usual
    return usual | {"any": (r.signs(r.scaled(-1100, 1100)), r.signs(r.scaled(-1100, 1100)))}


def names():
    complexes = ("complex " + name for name in (*COMPLEX, *COMPLEX2))
    return [*UNARY, *BINARY, *SPECIAL, *SPECIAL2, *complexes]


def measure(tf, name, quick, seed=1):
    """{dtype: {range: greatest error}}"""
    n = QUICK if quick else MANY
    if name in SPECIAL or name in SPECIAL2:
        n = FEW if quick else 8 * FEW
        if name.startswith(("bessel_k", "bessel_y", "spence")):  # which mpmath computes slowly
            n //= 4
    if name.startswith("complex "):
        return _measure_complex(tf, name.removeprefix("complex "), n, seed)
    found = {}
    for dtype in DTYPES:
        if DIGITS[dtype] < 23 and name in RARE:
            continue
        r = Ranges(dtype, n, seed)
        if name in BINARY:
            (function, reference), cases = BINARY[name], _pairs(name, r)
        elif name in SPECIAL2:
            inputs, function, reference = SPECIAL2[name]
            cases, reference = {"usual": inputs(r)}, _by_mpmath(reference)
        else:
            inputs, function, reference = (UNARY | SPECIAL)[name]
            cases = {k: (x,) for k, x in inputs(r).items()}
            reference = _by_mpmath(reference) if name in SPECIAL else reference
        found[dtype] = {}
        for kind, given in cases.items():
            tensors = [tf.cast(tf.constant(np.asarray(x, np.float64)), dtype) for x in given]
            try:
                got = tf.cast(function(tf)(*tensors), tf.float64).numpy()
            except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError):  # no kernel for this dtype
                del found[dtype]
                break
            with np.errstate(all="ignore"):
                found[dtype][kind] = float(errors(got, reference(*given), dtype).max())
    return found


def most_allowed(name, dtype, kind, theirs, ours, gpu=False):
    """Ulp that a function may be off: twice TensorFlow's, and twice what it was when it was measured last, so that it is
    held to something where TensorFlow is far off. What it calls of glibc's, or of CUDA's, may be another release's."""
    least = LEAST_ON_GPU if gpu else LEAST_ON_CPU
    by_theirs = least if theirs is None else max(2 * theirs, least)
    alone = name in OURS_ALONE or (name in OURS_ALONE_IN_DOUBLE and dtype == "float64") or DIGITS.get(dtype, 23) < 23
    return by_theirs if gpu else min(by_theirs, max(2 * ours, LEAST_ON_CPU if alone else LEAST_OF_GLIBC))


def beyond(name, errors, gpu=False):
    """What is worse than is allowed, as text, of what `measure` gives."""
    facts, wrong = stored()[name], []
    wrong += [f"{name} of {dtype}: was not measured" for dtype in facts if dtype not in errors]
    for dtype, ranges in errors.items():
        for kind, error in ranges.items():
            theirs, ours = facts[dtype][kind]
            if not error <= most_allowed(name, dtype, kind, theirs, ours, gpu):
                wrong.append(f"{name} of {dtype}, {kind}: {error:.3g} ulp; on a CPU {ours} before, TensorFlow {theirs}")
    return wrong


def stored():
    """{function: {dtype: {range: (TensorFlow's error, ours)}}}; None where TensorFlow does not have the dtype."""

    def number(x):
        return x if x is None else float(x)

    facts = json.loads(FACTS.read_text())
    return {
        name: {d: {k: tuple(map(number, pair)) for k, pair in ranges.items()} for d, ranges in dtypes.items()}
        for name, dtypes in facts.items()
    }


def _complex(real, imaginary):
    return real + np.clongdouble(1j) * imaginary


def _measure_complex(tf, name, n, seed):
    """Errors of both parts together, in ulp of the absolute value."""
    found = {}
    for dtype, part in (("complex64", "float32"), ("complex128", "float64")):
        r = Ranges(part, n, seed)
        function, reference = (COMPLEX | COMPLEX2)[name]
        count = 2 if name in COMPLEX2 else 1
        cases = {"usual": [_complex(r.uniform(-3, 3), r.uniform(-3, 3)) for _ in range(count)]}
        if name in WIDE:
            half = r.high // 2 + 10
            for kind, sizes in {"large": (half, r.high - 2), "small": (r.low + 12, -half)}.items():
                cases[kind] = [
                    _complex(r.signs(r.scaled(*sizes)), r.signs(r.scaled(*sizes))) for _ in range(count)
                ]
        found[dtype] = {}
        for kind, given in cases.items():
            got = function(tf)(*(tf.constant(z.astype(dtype)) for z in given)).numpy()
            with np.errstate(all="ignore"):
                wanted = reference(*given)
                size = np.abs(wanted)
                unit = np.ldexp(LONG(1), np.maximum(np.frexp(size)[1] - 1, r.low) - DIGITS[part])
                error = np.abs(got - wanted) / unit
            found[dtype][kind] = float(np.where(np.isnan(error), np.inf, error).max())
    return found
