"""tf.math.special: Fresnel's integrals, by Cephes's approximations."""

import math

from tandem._core import convert_to_tensor, execute

# Numerators and denominators of the approximations, the highest power first: of the series near zero and of the
# two functions that take over from x² = 2.5625 on.
_SN = [-2.99181919401019853726e3, 7.08840045257738576863e5, -6.29741486205862506537e7, 2.54890880573376359104e9,
       -4.42979518059697779103e10, 3.18016297876567817986e11]  # fmt: skip
_SD = [1.0, 2.81376268889994315696e2, 4.55847810806532581675e4, 5.17343888770096400730e6, 4.19320245898111231129e8,
       2.24411795645340920940e10, 6.07366389490084639049e11]  # fmt: skip
_CN = [-4.98843114573573548651e-8, 9.50428062829859605134e-6, -6.45191435683965050962e-4, 1.88843319396703850064e-2,
       -2.05525900955013891793e-1, 9.99999999999999998822e-1]  # fmt: skip
_CD = [3.99982968972495980367e-12, 9.15439215774657478799e-10, 1.25001862479598821474e-7, 1.22262789024179030997e-5,
       8.68029542941784300606e-4, 4.12142090722199792936e-2, 1.00000000000000000118e0]  # fmt: skip
_FN = [4.21543555043677546506e-1, 1.43407919780758885261e-1, 1.15220955073585758835e-2, 3.45017939782574027900e-4,
       4.63613749287867322088e-6, 3.05568983790257605827e-8, 1.02304514164907233465e-10, 1.72010743268161828879e-13,
       1.34283276233062758925e-16, 3.76329711269987889006e-20]  # fmt: skip
_FD = [1.0, 7.51586398353378947175e-1, 1.16888925859191382142e-1, 6.44051526508858611005e-3, 1.55934409164153020873e-4,
       1.84627567348930545870e-6, 1.12699224763999035261e-8, 3.60140029589371370404e-11, 5.88754533621578410010e-14,
       4.52001434074129701496e-17, 1.25443237090011264384e-20]  # fmt: skip
_GN = [5.04442073643383265887e-1, 1.97102833525523411709e-1, 1.87648584092575249293e-2, 6.84079380915393090172e-4,
       1.15138826111884280931e-5, 9.82852443688422223854e-8, 4.45344415861750144738e-10, 1.08268041139020870318e-12,
       1.37555460633261799868e-15, 8.36354435630677421531e-19, 1.86958710162783235106e-22]  # fmt: skip
_GD = [1.0, 1.47495759925128324529e0, 3.37748989120019970451e-1, 2.53603741420338795122e-2, 8.14679107184306179049e-4,
       1.27545075667729118702e-5, 1.04314589657571990585e-7, 4.60680728146520428211e-10, 1.10273215066240270757e-12,
       1.38796531259578871258e-15, 8.39158816283118707363e-19, 1.86958710162783236342e-22]  # fmt: skip


def _polynomial(x, coefficients):
    total = execute("ZerosLike", x) + coefficients[0]
    for c in coefficients[1:]:
        total = total * x + c
    return total


def _fresnel(x, near, far):
    given = convert_to_tensor(x)
    x = execute("Cast", given, dtype="float64")
    size = execute("Abs", x)
    square = size * size
    close = execute("Less", square, convert_to_tensor(2.5625, "float64"))
    small = execute("SelectV2", close, size, execute("ZerosLike", size))
    # Beyond, f and g of the inverse of the square.
    large = execute("SelectV2", close, execute("OnesLike", size) * 2.0, execute("Minimum", size, convert_to_tensor(1e8, "float64")))
    t = math.pi * large * large
    u = 1.0 / (t * t)
    f = 1.0 - u * _polynomial(u, _FN) / _polynomial(u, _FD)
    g = 1.0 / t * _polynomial(u, _GN) / _polynomial(u, _GD)
    # Whole turns do not count: the angle is taken of what is left of x² by 4.
    angle = math.pi / 2 * execute("FloorMod", large * large, convert_to_tensor(4.0, "float64"))
    found = execute("SelectV2", close, near(small), far(f, g, execute("Cos", angle), execute("Sin", angle), math.pi * large))
    found = execute("SelectV2", execute("Less", x, convert_to_tensor(0.0, "float64")), execute("Neg", found), found)
    found = execute("SelectV2", execute("IsNan", x), x, found)
    return execute("Cast", found, dtype=given.dtype)


def fresnel_sin(x, name=None):
    """The integral of sin(πt²/2) from zero."""
    near = lambda x: x**3 * _polynomial(x**4, _SN) / _polynomial(x**4, _SD)  # noqa: E731
    return _fresnel(x, near, lambda f, g, cos, sin, t: 0.5 - (f * cos + g * sin) / t)


def fresnel_cos(x, name=None):
    """The integral of cos(πt²/2) from zero."""
    near = lambda x: x * _polynomial(x**4, _CN) / _polynomial(x**4, _CD)  # noqa: E731
    return _fresnel(x, near, lambda f, g, cos, sin, t: 0.5 + (f * sin - g * cos) / t)
