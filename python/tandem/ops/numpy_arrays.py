"""The rest of tf.experimental.numpy on shapes and places: making, joining, cutting and turning arrays; dtypes."""

import builtins

import numpy as _np

from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import bool as bool_, int64
from tandem.ops import array as _array, math as _math, numpy_api as _api
from tandem.ops.check import axis_of
from tandem.ops.sizes import made_on_host
from tandem.ops.numpy_api import _default, _dtype, asarray

# Types of Python's and NumPy's that dtypes are asked for by.
int_, float_, complex_ = _np.int_, _np.float64, _np.complex128
object_, string_, unicode_, inexact = _np.object_, _np.bytes_, _np.str_, _np.inexact
iinfo = _np.iinfo


def promote_types(type1, type2):
    """The dtype that holds the values of both."""
    return _np.dtype(_default(_np.promote_types(*(_plain(t) for t in (type1, type2)))).as_numpy_dtype)


def issubdtype(arg1, arg2):
    """Whether a dtype is one of a kind."""
    return _np.issubdtype(_plain(arg1), _plain(arg2))


def _plain(dtype):
    return dtype.as_numpy_dtype if hasattr(dtype, "as_numpy_dtype") else dtype


def append(arr, values, axis=None):
    """An array and another after it."""
    if axis is None:
        arr, values, axis = _api.ravel(arr), _api.ravel(values), 0
    return _api.concatenate([arr, values], axis)


def atleast_3d(*arys):
    """With three dimensions at least."""
    found = []
    for given in arys:
        a = asarray(given)
        rank = a.shape.rank
        if rank == 0:
            a = execute("Reshape", a, [1, 1, 1])
        elif rank == 1:
            a = a[None, :, None]
        elif rank == 2:
            a = a[:, :, None]
        found.append(a)
    return found[0] if len(found) == 1 else found


def broadcast_arrays(*args, **kwargs):
    """Arrays in the shape of their sum."""
    if kwargs.pop("subok", False):
        raise ValueError("subok=True is not supported.")
    if kwargs:
        raise ValueError(f"Received unsupported arguments {list(kwargs)}")
    arrays = [asarray(a) for a in args]
    shape = execute("Shape", arrays[0])
    for a in arrays[1:]:
        shape = execute("BroadcastArgs", shape, execute("Shape", a))
    return [execute("BroadcastTo", a, shape) for a in arrays]


def compress(condition, a, axis=None):
    """The parts whose condition holds."""
    a, condition = asarray(a), asarray(condition, bool_)
    if condition.shape.rank != 1:
        raise ValueError("condition must be a 1-d array.")
    if axis is None:
        a, axis = _api.ravel(a), 0
    places = execute("Where", condition)[:, 0]
    return execute("GatherV2", a, places, axis=axis_of(axis, a))


def _ranked(x, name):
    x = asarray(x)
    if x.shape.rank is None:
        raise ValueError(f"{name}: the number of dimensions must be known when a function is traced.")
    return x


def diag(v, k=0):
    """A matrix of a diagonal, or the diagonal of a matrix."""
    v = _ranked(v, "diag")
    if v.shape.rank not in (1, 2):
        raise ValueError("Input to diag must be 1-d or 2-d only.")
    if v.shape.rank == 1:
        return _math.diag(v, k=k)
    rows, columns = v.shape.as_list()
    if None not in (rows, columns) and not -rows < k < columns:
        return execute("Reshape", v, [-1])[:0]
    return _math.diag_part(v, k=k)


def diag_indices(n, ndim=2):
    """The places of a diagonal."""
    if n < 0:
        raise ValueError(f"n argument to diag_indices must be nonnegative, got {n}")
    if ndim < 0:
        raise ValueError(f"ndim argument to diag_indices must be nonnegative, got {ndim}")
    return (execute("Range", 0, n, 1),) * ndim


def diagflat(v, k=0):
    """A matrix whose diagonal has all elements."""
    return diag(_api.ravel(v), k)


def diagonal(a, offset=0, axis1=0, axis2=1):
    """Diagonals of two axes, as the last axis."""
    a = _ranked(a, "diagonal")
    rank = a.shape.rank
    if rank < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axis1, axis2 = axis_of(axis1, a), axis_of(axis2, a)
    rest = [i for i in range(rank) if i not in (axis1, axis2)]
    a = _array.transpose(a, [*rest, axis1, axis2])
    rows, columns = a.shape[-2], a.shape[-1]
    if rows is not None and columns is not None and not -rows < offset < columns:
        return a[..., 0, :0]
    return _math.diag_part(a, k=offset)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """Sums of diagonals."""
    return _api.sum(diagonal(asarray(a, _dtype(dtype) if dtype else None), offset, axis1, axis2), -1)


_MOST_DIFFERENCES = 1000  # that are one op each


def diff(a, n=1, axis=-1):
    """Differences of neighbours, n times."""
    a = _ranked(a, "diff")
    if a.shape.rank == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    axis = axis_of(axis, a)
    before, after = ([builtins.slice(None)] * a.shape.rank for _ in range(2))
    before[axis], after[axis] = builtins.slice(None, -1), builtins.slice(1, None)
    op = "NotEqual" if a.dtype is bool_ else "Sub"
    size = a.shape[axis]
    if size is None and n > _MOST_DIFFERENCES:
        raise ValueError(f"diff takes up to {_MOST_DIFFERENCES} orders along an axis of unknown size, got {n}.")
    for _ in range(n if size is None else min(n, size)):
        a = execute(op, a[tuple(after)], a[tuple(before)])
    return a


def _splitting(axis, name):
    def function(ary, indices_or_sections):
        ary = asarray(ary)
        along = 0 if name == "hsplit" and ary.shape.rank == 1 else axis
        if isinstance(indices_or_sections, int):
            return _api.split(ary, indices_or_sections, along)
        size = ary.shape[along]
        ends = [0, *(min(max(i + size if i < 0 else i, 0), size) for i in indices_or_sections), size]
        parts = []
        for start, end in zip(ends, ends[1:]):
            place = [builtins.slice(None)] * ary.shape.rank
            place[along] = builtins.slice(start, end)
            parts.append(ary[tuple(place)])
        return parts

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Parts along axis {axis}."
    return function


vsplit, hsplit, dsplit = _splitting(0, "vsplit"), _splitting(1, "hsplit"), _splitting(2, "dsplit")


def dstack(tup):
    """Arrays behind one another, along the third axis."""
    return _api.concatenate([atleast_3d(a) for a in tup], axis=2)


def fliplr(m):
    """Columns in reverse order."""
    return _api.flip(m, axis=1)


def flipud(m):
    """Rows in reverse order."""
    return _api.flip(m, axis=0)


@made_on_host
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Numbers of which each is a fixed multiple of the one before."""
    return _on_host(_np.geomspace, start, stop, num, dtype, endpoint=endpoint, axis=axis)


@made_on_host
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Powers of evenly spaced numbers."""
    return _on_host(_np.logspace, start, stop, num, dtype, endpoint=endpoint, base=base, axis=axis)


def _on_host(function, start, stop, num, dtype, **options):
    start, stop = (x.numpy() if hasattr(x, "numpy") else x for x in (start, stop))
    _require_sizes(num, options["axis"])
    values = function(start, stop, num, **options)
    return asarray(values, _dtype(dtype) if dtype else _api.result_type(_np.asarray(start), _np.asarray(stop), 1.0))


def ix_(*args):
    """Vectors that together name every combination."""
    found = []
    for i, given in enumerate(args):
        a = asarray(given)
        if a.shape.rank != 1:
            raise ValueError(f"Arguments must be 1-d, got arg {i} of rank {a.shape.rank}")
        if a.dtype is bool_:
            a = execute("Where", a)[:, 0]
        found.append(execute("Reshape", a, [-1 if j == i else 1 for j in range(len(args))]))
    return found


def meshgrid(*xi, **kwargs):
    """Coordinates of a grid."""
    sparse, indexing = kwargs.pop("sparse", False), kwargs.pop("indexing", "xy")
    if sparse:
        raise ValueError("Function `meshgrid` does not support returning sparse arrays yet. Received: sparse=True")
    if not kwargs.pop("copy", True):
        raise ValueError("Function `meshgrid` only supports copy=True. Received: copy=False")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for `indexing` are 'xy' and 'ij', got {indexing}")
    places = ix_(*(_api.ravel(x) for x in xi))
    if indexing == "xy" and len(places) > 1:
        turn = [1, 0, *range(2, len(places))]
        places = [_array.transpose(p, turn) for p in places]
    return broadcast_arrays(*places)


def pad(array, pad_width, mode, **kwargs):
    """With more elements at the edges."""
    array = _ranked(array, "pad")
    value = kwargs.get("constant_values", 0)
    width = _np.broadcast_to(_np.asarray(pad_width), (array.shape.rank, 2)).tolist()
    if mode == "constant":
        return execute("PadV2", array, width, asarray(value, array.dtype))
    if mode not in ("reflect", "symmetric"):
        raise ValueError(f"Unsupported padding mode: {mode}")
    return execute("MirrorPad", array, width, mode=mode.upper())


def roll(a, shift, axis=None):
    """Elements moved on, those beyond the end to the beginning."""
    a = asarray(a)
    if axis is not None:
        return execute("Roll", a, shift=shift, axis=axis)
    return execute("Reshape", execute("Roll", _api.ravel(a), shift=[shift], axis=[0]), execute("Shape", a))


def rot90(m, k=1, axes=(0, 1)):
    """Turned by right angles in the plane of two axes."""
    m = _ranked(m, "rot90")
    first, second = (axis_of(a, m) for a in axes)
    k = k % 4
    if k == 0:
        return m
    if k == 2:
        return _api.flip(_api.flip(m, first), second)
    turned = list(range(m.shape.rank))
    turned[first], turned[second] = second, first
    if k == 1:
        return _array.transpose(_api.flip(m, second), turned)
    return _api.flip(_array.transpose(m, turned), second)


def take_along_axis(arr, indices, axis):
    """Elements by a place for each along an axis."""
    arr, indices = asarray(arr), asarray(indices)
    if axis is None:
        return execute("GatherV2", _api.ravel(arr), _wrapped(_api.ravel(indices), execute("Size", arr)), axis=0)
    axis = axis_of(axis, arr)
    indices = _wrapped(indices, execute("Shape", arr)[axis])
    sizes = [execute("Shape", x) for x in (arr, indices)]
    rank = arr.shape.rank
    both = execute("BroadcastArgs", *(_with(s, axis, rank, 1) for s in sizes))
    arr = execute("BroadcastTo", arr, _with(both, axis, rank, sizes[0][axis]))
    indices = execute("BroadcastTo", indices, _with(both, axis, rank, sizes[1][axis]))
    return execute("TakeAlongAxis", arr, indices, axis=axis)


def _wrapped(indices, size):
    size = execute("Cast", size, dtype=indices.dtype)
    return execute("SelectV2", execute("Less", indices, asarray(0, indices.dtype)), indices + size, indices)


def _with(sizes, axis, rank, size):
    parts = [sizes[i] for i in range(rank)]
    parts[axis] = convert_to_tensor(size, sizes.dtype)
    return execute("Pack", parts, axis=0)


@made_on_host
def tri(N, M=None, k=0, dtype=None):
    """Ones on and below a diagonal."""
    _require_sizes(N, 0 if M is None else M, k)
    rows, columns = (execute("Range", 0, execute("Maximum", n, 0), 1) for n in (N, N if M is None else M))
    below = execute("ExpandDims", rows, axis=1) + k >= columns
    return execute("Cast", below, dtype=_dtype(dtype) if dtype is not None else _default(_np.float64))


def _require_sizes(*sizes):
    if any(isinstance(s, int) and abs(s) > 2**31 for s in sizes):
        raise ValueError(f"Sizes and diagonals must have 32 bits, got {sizes}.")


def _triangle(keep):
    def function(m, k=0):
        m = _ranked(m, "tril and triu")
        if m.shape.rank < 2:
            raise ValueError("Argument to tril/triu must have rank at least 2")
        rows, columns = execute("Shape", m)[-2], execute("Shape", m)[-1]
        below = execute("Range", 0, columns, 1)[None, :] - execute("Range", 0, rows, 1)[:, None]
        kept = execute("LessEqual", below, k) if keep == "lower" else execute("GreaterEqual", below, k)
        return execute("SelectV2", kept, m, execute("ZerosLike", m))

    return function


tril, triu = _triangle("lower"), _triangle("upper")


def vander(x, N=None, increasing=False):
    """Rows of powers."""
    x = _ranked(x, "vander")
    if x.shape.rank != 1:
        raise ValueError("x must be a one-dimensional array")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise ValueError("N must be nonnegative")
    powers = execute("Range", *(convert_to_tensor(n, int64) for n in (0, count, 1)))
    if not increasing:
        powers = count - 1 - powers
    return execute("Pow", execute("ExpandDims", x, axis=1), execute("Cast", powers, dtype=x.dtype))
