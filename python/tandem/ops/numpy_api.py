"""tf.experimental.numpy: NumPy's functions on tensors, with NumPy's promotion of dtypes.

Arrays are tensors. Python numbers are int64 and float64, as in NumPy, unless
experimental_enable_numpy_behavior(prefer_float32=True) was called.
"""

import builtins
import functools

import numpy as _np

from tandem import _core
from tandem._core import Tensor as ndarray, VariableBase, as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import (  # noqa: F401  (public names)
    bool as bool_, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32,
    uint64,
)  # fmt: skip
from tandem.framework.errors import ResourceExhaustedError
from tandem.ops import array as _array, math as _math
from tandem.ops.check import axis_of, size_of
from tandem.ops.ranks import by_rank, least_rank
from tandem.framework.types import CompositeTensor
from tandem.ops.sizes import made_on_host

newaxis, pi, e, inf = None, _np.pi, _np.e, _np.inf
_settings = {"prefer_float32": False}


def experimental_enable_numpy_behavior(prefer_float32=False, dtype_conversion_mode=None):
    """Tensors get NumPy's methods and properties; see tandem.framework.tensor for what they have without."""
    _settings["prefer_float32"] = bool(prefer_float32)
    for name, function in (("T", property(transpose)), ("size", property(size)), ("ndim", property(ndim)),
                           ("reshape", _reshape_method), ("astype", _astype), ("ravel", ravel), ("flatten", ravel),
                           ("transpose", transpose), ("clip", clip), ("tolist", lambda x: x.numpy().tolist()),
                           ("mean", mean), ("max", max), ("min", min), ("__pos__", lambda x: x),
                           ("data", property(lambda x: x))):  # fmt: skip
        if not hasattr(ndarray, name):
            setattr(ndarray, name, function)
    if not _settings.get("promotes"):
        _settings["promotes"] = True
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
            for operator in (f"__{name}__", f"__r{name}__"):
                setattr(ndarray, operator, _promoting(getattr(ndarray, operator)))
        for name in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(ndarray, f"__{name}__", _promoting(getattr(ndarray, f"__{name}__")))
        ndarray.__matmul__ = matmul
        ndarray.__rmatmul__ = lambda x, y: matmul(y, x)


def _promoting(operator):
    """An operator of tensors that widens its operands as NumPy does."""

    @functools.wraps(operator)
    def promoted(x, y):
        if isinstance(y, (ndarray, _np.ndarray, _np.generic, int, float, complex)):
            x, y = _promoted(x, y)
        return operator(x, y)

    return promoted


def _reshape_method(x, *shape):
    return reshape(x, shape[0] if len(shape) == 1 else shape)


def _astype(x, dtype):
    return asarray(x, dtype)


def _default(dtype):
    """The dtype of NumPy's answer, in 32 bits where that is preferred."""
    name = _np.dtype(dtype).name
    if _settings["prefer_float32"] and name in ("float64", "complex128"):
        name = {"float64": "float32", "complex128": "complex64"}[name]
    return as_dtype(name)


def asarray(a, dtype=None):
    """The tensor of a value."""
    if isinstance(a, VariableBase):
        a = a.read_value()
    elif isinstance(a, CompositeTensor):
        raise TypeError(f"An array is wanted, not a {type(a).__name__}. Make a dense tensor of it first.")
    if not isinstance(a, ndarray):
        if isinstance(a, (list, tuple)) and builtins.any(isinstance(v, ndarray) for v in a):
            a = stack(list(map(asarray, a)))
        else:
            values = _np.asarray(a)
            a = convert_to_tensor(values, None if values.dtype.kind in "SUO" else _default(values.dtype))
    return a if dtype is None or a.dtype is as_dtype(dtype) else execute("Cast", a, dtype=as_dtype(dtype))


array = asanyarray = ascontiguousarray = asarray


def copy(a):
    """A tensor with the same contents."""
    return execute("Identity", asarray(a))


def result_type(*values):
    """The dtype that NumPy would give to a sum."""
    kinds = [v.dtype if isinstance(v, ndarray) else v for v in values]
    kinds = [v.as_numpy_dtype if isinstance(v, _core.DType) else v for v in kinds]
    return _default(_np.result_type(*kinds))


def _promoted(*values):
    # Python numbers do not widen arrays.
    plain = [v for v in values if isinstance(v, (int, float, complex)) and not isinstance(v, _np.bool_)]
    tensors = [asarray(v) for v in values if builtins.all(v is not p for p in plain)]
    dtype = result_type(*tensors, *(type(v)(0) for v in plain))  # by its kind: 300 does not widen an int8
    return [asarray(v, dtype) for v in values]


def _floating(x):
    x = asarray(x)
    return x if x.dtype.is_floating or x.dtype.is_complex else asarray(x, _default(_np.float64))


def _define(names, op, prepare, doc):
    one = len(_core.op(op).describe()["inputs"]) == 1
    for name in names.split():
        if one:
            def function(x):
                return execute(op, *prepare(x))
        else:
            def function(x1, x2):
                return execute(op, *prepare(x1, x2))

        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        globals()[name] = function


for _name, _op in {
    "exp": "Exp", "expm1": "Expm1", "log": "Log", "log1p": "Log1p", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos",
    "tan": "Tan", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
    "tanh": "Tanh", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh", "floor": "Floor", "ceil": "Ceil",
    "reciprocal": "Reciprocal",
}.items():  # fmt: skip
    _define(_name, _op, lambda x: [_floating(x)], f"NumPy's {_name}, elementwise.")
for _name, _op in {
    "square": "Square", "negative": "Neg", "sign": "Sign", "isnan": "IsNan", "isinf": "IsInf", "isfinite": "IsFinite",
}.items():  # fmt: skip
    _define(_name, _op, lambda x: [asarray(x)], f"NumPy's {_name}, elementwise.")
for _name, _op in {
    "add": "AddV2", "subtract": "Sub", "multiply": "Mul", "floor_divide": "FloorDiv", "mod": "FloorMod",
    "remainder": "FloorMod", "power": "Pow", "maximum": "Maximum", "minimum": "Minimum", "equal": "Equal",
    "not_equal": "NotEqual", "less": "Less", "less_equal": "LessEqual", "greater": "Greater",
    "greater_equal": "GreaterEqual",
}.items():  # fmt: skip
    _define(_name, _op, _promoted, f"NumPy's {_name}, elementwise.")


def _two_floats(x, y):
    x, y = _promoted(x, y)
    return [_floating(x), _floating(y)]


_define("true_divide divide", "RealDiv", _two_floats, "Quotients, of floats.")
_define("arctan2", "Atan2", _two_floats, "The angle of (x, y).")
for _name, _op in {"logical_and": "LogicalAnd", "logical_or": "LogicalOr", "logical_not": "LogicalNot"}.items():
    _define(_name, _op, lambda *v: [asarray(x, bool_) for x in v], f"NumPy's {_name}, elementwise.")


def abs(x):
    """Magnitudes."""
    x = asarray(x)
    return execute("ComplexAbs" if x.dtype.is_complex else "Abs", x)


absolute = fabs = abs


def log2(x):
    """Logarithm to base 2."""
    return log(x) / _np.log(2)  # noqa: F821


def log10(x):
    """Logarithm to base 10."""
    return log(x) / _np.log(10)  # noqa: F821


def clip(a, a_min, a_max):
    """Values between two bounds."""
    if a_min is None and a_max is None:
        raise ValueError("Not more than one of `a_min` and `a_max` may be `None`.")
    a = asarray(a)
    a = a if a_min is None else maximum(a, a_min)  # noqa: F821
    return a if a_max is None else minimum(a, a_max)  # noqa: F821


def where(condition, x=None, y=None):
    """x where the condition holds, else y."""
    if x is None and y is None:
        return nonzero(condition)
    x, y = _promoted(x, y)
    return execute("SelectV2", asarray(condition, bool_), x, y)


def nonzero(a):
    """Coordinates of elements that are not zero, one vector for each dimension."""
    places = execute("Where", asarray(a, bool_))
    if places.shape[1] is None:
        raise ValueError("The rank of `a` is unknown, so we can't decide how many arrays to return.")
    return [places[:, i] for i in range(places.shape[1])]


# ---- Making


def _filled(value):
    def make(shape, dtype=float):
        return execute("Fill", [shape] if isinstance(shape, int) else list(shape), asarray(value, _dtype(dtype)))

    return make


def _dtype(dtype):
    return _default(_np.dtype(dtype)) if dtype in (float, int, complex, bool, None) else as_dtype(dtype)


zeros, ones, empty = _filled(0), _filled(1), _filled(0)


def full(shape, fill_value, dtype=None):
    """One value everywhere."""
    value = asarray(fill_value, dtype)
    return execute("BroadcastTo", value, [shape] if isinstance(shape, int) else list(shape))


def zeros_like(a, dtype=None):
    """Zeros in the shape of a."""
    return execute("ZerosLike", asarray(a, dtype))


empty_like = zeros_like


def ones_like(a, dtype=None):
    """Ones in the shape of a."""
    return execute("OnesLike", asarray(a, dtype))


def full_like(a, fill_value, dtype=None):
    """One value in the shape of a."""
    a = asarray(a)
    return execute("BroadcastTo", asarray(fill_value, dtype or a.dtype), execute("Shape", a))


def arange(start, stop=None, step=1, dtype=None):
    """Evenly spaced numbers."""
    start, stop = (0, start) if stop is None else (start, stop)
    if builtins.bool(_np.ndim(step) == 0 and step == 0):
        raise ValueError("step must be non-zero.")
    try:
        numbers = _np.arange(start, stop, step)
    except MemoryError as error:
        raise ResourceExhaustedError(None, None, f"arange: {error}") from None
    return asarray(numbers, dtype)


@made_on_host
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=float, axis=0):
    """Numbers evenly spaced between two."""
    try:
        kind = _dtype(dtype).as_numpy_dtype
        values, step = _np.linspace(start, stop, num, endpoint, retstep=True, dtype=kind, axis=axis)
    except OverflowError as error:
        raise ValueError(f"linspace: {error}: num {num}, axis {axis}.") from None
    return (asarray(values), asarray(step)) if retstep else asarray(values)


@made_on_host
def eye(N, M=None, k=0, dtype=float):
    """Ones on a diagonal."""
    return asarray(_np.eye(N, M, k, dtype=_dtype(dtype).as_numpy_dtype))


def identity(n, dtype=float):
    """The identity matrix."""
    return eye(n, dtype=dtype)


# ---- Shapes


def shape(a):
    known = asarray(a).shape
    return known if known.rank is None else tuple(known.as_list())


def ndim(a):
    a = asarray(a)
    return execute("Rank", a) if a.shape.rank is None else a.shape.rank


def size(x, axis=None):
    x = asarray(x)
    if axis is not None:
        return size_of(x, axis)
    known = x.shape.num_elements()
    return execute("Size", x) if known is None else known


def reshape(a, newshape, order="C"):
    """The same elements in another shape."""
    a = asarray(a)
    target = [newshape] if isinstance(newshape, int) else list(newshape)
    if order == "F":
        return transpose(execute("Reshape", transpose(a), target[::-1]))
    return execute("Reshape", a, target)


def ravel(a):
    """All elements as a vector."""
    return execute("Reshape", asarray(a), [-1])


flatten = ravel


def transpose(a, axes=None):
    """Permutes dimensions."""
    return _array.transpose(asarray(a), axes)


def swapaxes(a, axis1, axis2):
    """Two dimensions changed about."""
    a = asarray(a)
    if a.shape.rank is None:
        return by_rank(lambda known: swapaxes(known, axis1, axis2), a, least_rank([axis1, axis2]))
    axis1, axis2 = axis_of(axis1, a), axis_of(axis2, a)
    order = list(range(a.shape.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return _array.transpose(a, order)


def moveaxis(a, source, destination):
    """Dimensions at other places."""
    a = asarray(a)
    rank = a.shape.rank
    if rank is None:
        return by_rank(lambda known: moveaxis(known, source, destination), a,
                       builtins.max(least_rank(source), least_rank(destination)))  # fmt: skip
    source = [axis_of(s, a) for s in _np.reshape(source, -1).tolist()]
    destination = [axis_of(d, a) for d in _np.reshape(destination, -1).tolist()]
    rest = [i for i in range(rank) if i not in source]
    for d, s in sorted(zip(destination, source)):
        rest.insert(d, s)
    return _array.transpose(a, rest)


def expand_dims(a, axis):
    """A new dimension of size one."""
    return execute("ExpandDims", asarray(a), axis=axis)


def squeeze(a, axis=None):
    """Without dimensions of size one."""
    return execute("Squeeze", asarray(a), axis=axis)


def broadcast_to(array, shape):  # noqa: A002
    """The array repeated to a shape."""
    return execute("BroadcastTo", asarray(array), list(shape))


def concatenate(arys, axis=0):
    """Arrays one after the other."""
    arys = _promoted(*(arys if isinstance(arys, (list, tuple)) else [arys]))
    return execute("ConcatV2", arys, axis=axis) if len(arys) > 1 else arys[0]


def stack(arrays, axis=0):
    """Arrays along a new dimension. One tensor is taken for its rows."""
    if isinstance(arrays, ndarray):
        return arrays if axis == 0 else moveaxis(arrays, 0, axis)
    return execute("Pack", _promoted(*arrays), axis=axis)


def hstack(tup):
    """Arrays side by side."""
    arrays = [atleast_1d(a) for a in tup]
    return concatenate(arrays, axis=0 if arrays[0].shape.rank == 1 else 1)


def vstack(tup):
    """Arrays on top of one another."""
    return concatenate([atleast_2d(a) for a in tup], axis=0)


def atleast_1d(a):
    a = asarray(a)
    if a.shape.rank is None:
        return by_rank(atleast_1d, a)
    return execute("Reshape", a, [1]) if a.shape.rank == 0 else a


def atleast_2d(a):
    a = asarray(a)
    if a.shape.rank is None:
        return by_rank(atleast_2d, a)
    a = atleast_1d(a)
    return execute("ExpandDims", a, axis=0) if a.shape.rank == 1 else a


def split(ary, indices_or_sections, axis=0):
    """Parts of an array: so many, or between places."""
    ary, places = asarray(ary), indices_or_sections
    if _np.ndim(places) == 0:
        return _array.split(ary, places, axis)
    if isinstance(places, ndarray) and places._symbolic:
        raise TypeError("np.split: using a `tf.Tensor` of places is not allowed in a traced function: give numbers.")
    axis = axis_of(axis, ary)
    parts = []
    for start, end in zip([0, *places], [*places, None]):
        if not isinstance(start, (int, _np.integer)) and not getattr(getattr(start, "dtype", None), "is_integer", False):
            raise TypeError(f"np.split: places must be integers, got {start!r}.")
        if end is not None and end < start:
            raise ValueError(f"np.split: the place {end} is smaller than the one before, {start}.")
        parts.append(ary[(slice(None),) * axis + (slice(start, end),)])
    return parts


def tile(a, reps):
    """An array repeated."""
    a = asarray(a)
    if isinstance(reps, ndarray) and not reps.dtype.is_integer:
        raise TypeError(f"np.tile: repetitions must be integers, got a tensor of {reps.dtype!r}.")
    if isinstance(reps, ndarray) and reps._symbolic:
        return _tile_by(a, reps)
    reps = list(_np.reshape(reps, -1))  # not as lists of lists: there may be many that are empty
    if not a.shape.is_fully_defined():
        return _tile_by(a, convert_to_tensor([int(r) for r in reps], int64))
    rank = builtins.max(a.shape.rank, len(reps))
    a = execute("Reshape", a, [1] * (rank - a.shape.rank) + a.shape.as_list())
    return execute("Tile", a, [1] * (rank - len(reps)) + [int(r) for r in reps])


def _tile_by(a, reps):
    """Of sizes, or by numbers, that are not known yet. The shorter ones begin with ones."""
    sizes, reps = execute("Shape", a, out_type=int64), execute("Cast", execute("Reshape", reps, [-1]), dtype=int64)
    more = execute("Size", reps) - execute("Size", sizes)
    ones = lambda count, dtype: execute("Fill", execute("Maximum", [count], 0), convert_to_tensor(1, dtype))  # noqa: E731
    a = execute("Reshape", a, execute("ConcatV2", [ones(more, sizes.dtype), sizes], axis=0))
    return execute("Tile", a, execute("ConcatV2", [ones(-more, reps.dtype), reps], axis=0))


def repeat(a, repeats, axis=None):
    """Elements repeated."""
    return _array.repeat(asarray(a), repeats, axis)


def flip(m, axis=None):
    """In reverse order."""
    m = asarray(m)
    if axis is None and m.shape.rank is None:
        return execute("Reshape", execute("ReverseV2", execute("Reshape", m, [-1]), axis=[0]), execute("Shape", m))
    axes = list(range(m.shape.rank)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    return execute("ReverseV2", m, axis=axes)


def take(a, indices, axis=None):
    """Elements at places."""
    a = ravel(a) if axis is None else asarray(a)
    return execute("GatherV2", a, asarray(indices), axis=axis or 0)


# ---- Sums and products


def _reduction(op, whole_numbers=None, as_bool=False):
    def reduce(a, axis=None, dtype=None, keepdims=None):
        a = asarray(a, bool_) if as_bool else asarray(a, dtype)
        if op == "Mean":
            a = _floating(a)
        elif whole_numbers and a.dtype in (bool_, int8, int16, int32):
            a = asarray(a, int64)
        axes = axis if axis is None or isinstance(axis, int) else list(axis)
        return execute(op, a, axis=axes, keepdims=bool(keepdims))

    return reduce


sum, prod = _reduction("Sum", True), _reduction("Prod", True)
mean = _reduction("Mean")
max = amax = _reduction("Max")
min = amin = _reduction("Min")
all, any = _reduction("All", as_bool=True), _reduction("Any", as_bool=True)


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=None):
    """Variances."""
    a = _floating(asarray(a, dtype))
    axes = axis if axis is None or isinstance(axis, int) else list(axis)
    found = execute("Moments", a, axis=axes, keepdims=bool(keepdims))[1]
    if ddof:
        sizes = [execute("Cast", execute("Size", x), dtype=found.dtype) for x in (a, found)]
        n = sizes[0] / execute("Maximum", sizes[1], 1)
        found = found * n / execute("Maximum", n - ddof, 0)  # as NumPy: of no degrees of freedom it is infinite
    return found


def std(a, axis=None, keepdims=None):
    """Standard deviations."""
    return execute("Sqrt", var(a, axis, keepdims=keepdims))


def cumsum(a, axis=None, dtype=None):
    """Running sums."""
    a = ravel(asarray(a, dtype)) if axis is None else asarray(a, dtype)
    return execute("Cumsum", a, axis=axis or 0)


def cumprod(a, axis=None, dtype=None):
    """Running products."""
    a = ravel(asarray(a, dtype)) if axis is None else asarray(a, dtype)
    return execute("Cumprod", a, axis=axis or 0)


def argmax(a, axis=None):
    """Where the largest elements are."""
    return execute("ArgMax", ravel(a) if axis is None else asarray(a), axis=axis or 0)


def argmin(a, axis=None):
    """Where the smallest elements are."""
    return execute("ArgMin", ravel(a) if axis is None else asarray(a), axis=axis or 0)


def sort(a, axis=-1, kind="quicksort", order=None):
    """Sorted."""
    return execute("Sort", asarray(a), axis=axis, direction="ASCENDING")


def argsort(a, axis=-1, kind="quicksort", order=None):
    """The order that sorts."""
    return asarray(execute("ArgSort", asarray(a), axis=axis, direction="ASCENDING", stable=True), int64)


def matmul(x1, x2):
    """Matrix products."""
    x1, x2 = _promoted(x1, x2)
    if x1.shape.rank is None:
        return by_rank(lambda known: matmul(known, x2), x1, 1)
    if x2.shape.rank is None:
        return by_rank(lambda known: matmul(x1, known), x2, 1)
    if x2.shape.rank == 1:
        return _math.matvec(x1, x2) if x1.shape.rank > 1 else execute("Sum", x1 * x2)
    if x1.shape.rank == 1:
        return execute("Squeeze", _math.matmul(x1[None, :], x2), axis=-2)
    return _math.matmul(x1, x2)


def dot(a, b):
    """Sums of products over the last axis of a and the last but one of b."""
    a, b = _promoted(a, b)
    if a.shape.rank is None:
        return by_rank(lambda known: dot(known, b), a)
    if b.shape.rank is None:
        return by_rank(lambda known: dot(a, known), b)
    if a.shape.rank == 0 or b.shape.rank == 0:
        return a * b
    return _math.tensordot(a, b, [[a.shape.rank - 1], [builtins.max(b.shape.rank - 2, 0)]])


def outer(a, b):
    """All products."""
    a, b = _promoted(a, b)
    return ravel(a)[:, None] * ravel(b)[None, :]


def tensordot(a, b, axes=2):
    """Sums of products over pairs of axes."""
    return _math.tensordot(*_promoted(a, b), axes)


def einsum(subscripts, *operands):
    """Einstein's summation."""
    return _math.einsum(subscripts, *_promoted(*operands))


def allclose(a, b, rtol=1e-05, atol=1e-08):
    """Whether all elements are nearly equal."""
    return all(isclose(a, b, rtol, atol))


def isclose(a, b, rtol=1e-05, atol=1e-08):
    """Whether elements are nearly equal."""
    a, b = _two_floats(a, b)
    return abs(a - b) <= abs(b) * rtol + atol
