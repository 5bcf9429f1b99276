"""Mathematics and linear algebra, where TensorFlow's function is more than one op."""

import builtins
import collections.abc

import numpy as np

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute, op
from tandem.framework.dtypes import int32, int64
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.indexed_slices import IndexedSlices
from tandem.ops import late_diagonals
from tandem.ops.check import assert_equal, assert_less_equal, axis_of, outer_sizes, size_of, with_rank, with_sizes

_Cast, _MatMul, _Sum, _Sqrt = op("Cast"), op("MatMul"), op("Sum"), op("Sqrt")
_Moments, _Maximum = op("Moments"), op("Maximum")


def saturate_cast(value, dtype, name=None):
    """A cast that clips to the range of the dtype first."""
    value, dtype = convert_to_tensor(value), as_dtype(dtype)
    if value.dtype is dtype:
        return value
    if value.dtype.is_complex or dtype.is_complex:
        raise TypeError("tf.saturate_cast of complex numbers is not available in Tandem.")
    (least, most), (low, high) = _limits(value.dtype), _limits(dtype)
    if least < low or most > high:
        low, high = (_toward_zero(limit, value.dtype) for limit in (builtins.max(least, low), builtins.min(most, high)))
        value = execute("ClipByValue", value, low, high)
    return execute(_Cast, value, dtype=dtype)


def _limits(dtype):
    """As Python's numbers, which compare exactly."""
    kind = float if dtype.is_floating else int
    return kind(dtype.min), kind(dtype.max)


def lowest(dtype):
    """What no number of the dtype is below, to begin a maximum with."""
    return convert_to_tensor(-float("inf") if dtype.is_floating else dtype.min, dtype)


def _toward_zero(limit, dtype):
    """The number of the dtype next to the limit that is not beyond it."""
    if not dtype.is_floating:
        return convert_to_tensor(int(limit), dtype)
    near = dtype.as_numpy_dtype(float(limit))
    if builtins.abs(float(near)) > builtins.abs(limit):
        near = np.nextafter(near, dtype.as_numpy_dtype(0))
    return convert_to_tensor(float(near), dtype)


def round(x, name=None):
    """The nearest whole number, halves to even; integers as they are."""
    x = convert_to_tensor(x)
    return x if x.dtype.is_integer else execute("Round", x)


def matmul(
    a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False,
    b_is_sparse=False, output_type=None, grad_a=False, grad_b=False, name=None,
):  # fmt: skip
    """Matrix product over the last two dimensions; leading ones broadcast."""
    if transpose_a and adjoint_a:
        raise ValueError("Only one of `transpose_a` and `adjoint_a` can be True.")
    if transpose_b and adjoint_b:
        raise ValueError("Only one of `transpose_b` and `adjoint_b` can be True.")
    if output_type is not None:
        a, b = (execute(_Cast, x, dtype=as_dtype(output_type)) for x in (a, b))
    if not (transpose_a or transpose_b or adjoint_a or adjoint_b):
        return execute(_MatMul, a, b)
    return execute(
        _MatMul, a, b, transpose_a=transpose_a, transpose_b=transpose_b, adjoint_a=adjoint_a, adjoint_b=adjoint_b
    )


def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """Products of matrices and vectors."""
    column = execute("ExpandDims", b, axis=-1)
    return execute("Squeeze", matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a), axis=-1)


def einsum(equation, *inputs, **kwargs):
    """Sum over the labels that the equation leaves out of its result."""
    kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(
            f"Invalid keyword arguments for this function: {', '.join(sorted(kwargs))}. Expected: "
            "name, optimize."
        )
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = inputs[0]
    tensors = [x for x in inputs if isinstance(x, _core.Tensor)]
    dtype = tensors[0].dtype if tensors else None
    tensors = [convert_to_tensor(x, None, dtype) for x in inputs]
    if any(x.shape.rank is None for x in tensors) and isinstance(equation, str) and "." not in equation:
        labels = equation.replace(" ", "").partition("->")[0].split(",")
        if len(labels) == len(tensors):  # the equation says what ranks they have
            tensors = [with_rank(x, len(names), len(names)) for x, names in zip(tensors, labels)]
    for i, x in enumerate(tensors):
        if x.shape.rank is None and isinstance(equation, str) and "..." in equation:
            from tandem.ops.ranks import by_rank

            named = equation.replace(" ", "").partition("->")[0].split(",")[i : i + 1]
            least = len("".join(named).replace("...", ""))
            return by_rank(lambda known: einsum(equation, *tensors[:i], known, *tensors[i + 1 :]), x, least)
    return _core.functions.einsum(equation, tensors)


def tensordot(a, b, axes, name=None):
    """Sums products over pairs of axes."""
    a = convert_to_tensor(a)
    b = convert_to_tensor(b, a.dtype)
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        rank = a.shape.rank
        if rank is None or b.shape.rank is None:
            return _tensordot_of_any(a, b, int(axes))
        if axes > rank:
            raise ValueError(f"`axes` must not be larger than the number of dimensions of tensor {a}. Received: {axes}.")
        return _core.functions.tensordot(a, b, list(range(rank - axes, rank)), list(range(axes)))
    if isinstance(axes, _core.Tensor) and axes._symbolic and _core.static_value(axes) is None:
        return _tensordot_later(a, b, axes)
    a_axes, b_axes = axes
    return _core.functions.tensordot(a, b, a_axes, b_axes)


def _tensordot_later(a, b, axes):
    """Over axes that are a tensor [2, n]: with them last in one and first in the other, a product of matrices."""
    ranks = a.shape.rank, b.shape.rank
    if None in ranks:
        raise ValueError(f"tensordot: the ranks must be known for axes that are a tensor, got {a.shape} and {b.shape}.")
    sides = []
    for x, rank, own, first in zip((a, b), ranks, (axes[0], axes[1]), (False, True)):
        own = execute("FloorMod", execute(_Cast, execute("Reshape", own, [-1]), dtype=int32), rank)
        places = convert_to_tensor(list(range(rank)), int32)
        free = execute("LogicalNot", execute("Any", execute("Equal", places[:, None], own), axis=1))
        kept = execute("Reshape", execute("Where", free), [-1])
        kept = execute(_Cast, kept, dtype=int32)
        order = execute("ConcatV2", [own, kept] if first else [kept, own], axis=0)
        order.set_shape([rank])
        sizes = execute("GatherV2", execute("Shape", x), kept)
        inner = execute("Prod", execute("GatherV2", execute("Shape", x), own))
        outer = execute("Prod", sizes)
        moved = execute("Transpose", x, perm=order)
        sides.append((execute("Reshape", moved, convert_sizes([inner, outer] if first else [outer, inner])), sizes))
    (left, rows), (right, columns) = sides
    return execute("Reshape", execute("MatMul", left, right), execute("ConcatV2", [rows, columns], axis=0))


_MOST_DIMENSIONS = 12  # that a tensor can have


def _tensordot_of_any(a, b, axes):
    """Over the last axes of one and the first ones of the other, of ranks that are known when the function runs."""
    if axes > _MOST_DIMENSIONS:
        raise ValueError(f"`axes` must not be larger than the number of dimensions of a tensor. Received: {axes}.")
    sizes = [execute("Shape", x) for x in (a, b)]
    count = [execute("Size", s) for s in sizes]
    for n in count:
        assert_less_equal(convert_to_tensor(axes, n.dtype), n, "`axes` must not be larger than the number of dimensions.")
    cut = count[0] - axes
    outer, inner, last = sizes[0][:cut], sizes[0][cut:], sizes[1][axes:]
    assert_equal(inner, sizes[1][:axes], "Sizes of the axes that are summed over must be the same.")
    both = [[execute("Prod", s, axis=[0]) for s in pair] for pair in ((outer, inner), (inner, last))]
    product = execute(_MatMul, *(execute("Reshape", x, convert_sizes(s)) for x, s in zip((a, b), both)))
    return execute("Reshape", product, execute("ConcatV2", [outer, last], axis=0))


def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """Variance of elements over axes."""
    x = convert_to_tensor(input_tensor)
    if not x.dtype.is_floating:
        raise TypeError("Input must be either real or complex. Received integer type " + repr(x.dtype) + ".")
    return execute(_Moments, x, axis=axis, keepdims=keepdims, no_axes=_empty(axis))[1]


def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """Standard deviation of elements over axes."""
    return execute(_Sqrt, reduce_variance(input_tensor, axis, keepdims))


def _empty(axis):
    return isinstance(axis, (list, tuple)) and len(axis) == 0


def count_nonzero(input, axis=None, keepdims=None, dtype=int64, name=None):
    """How many elements are not zero."""
    input = convert_to_tensor(input)
    zero = convert_to_tensor("" if input.dtype.name == "string" else False if input.dtype.is_bool else 0, input.dtype)
    nonzero = execute(_Cast, execute("NotEqual", input, zero), dtype=int64)
    total = execute(_Sum, nonzero, axis=axis, keepdims=bool(keepdims), no_axes=_empty(axis))
    dtype = as_dtype(dtype)
    return total if dtype is int64 else execute(_Cast, total, dtype=dtype)


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None):
    """Norm of vectors or matrices."""
    x = convert_to_tensor(tensor)
    keepdims = bool(keepdims)
    if ord in ("euclidean", "fro", 2) and not (ord == 2 and _is_pair(axis)):
        if ord == "fro" and axis is not None and not _is_pair(axis):
            raise ValueError("'axis' must be None, an integer, or a tuple of 2 integers; 'fro' needs two axes.")
        return execute("EuclideanNorm", x, axis=axis, keepdims=keepdims)
    magnitude = execute("ComplexAbs" if x.dtype.is_complex else "Abs", x)
    if _is_pair(axis):
        return _matrix_norm(x, magnitude, ord, axis, keepdims)
    if ord == np.inf:
        return execute("Max", magnitude, axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return execute("Min", magnitude, axis=axis, keepdims=keepdims)
    if ord == 1:
        return execute(_Sum, magnitude, axis=axis, keepdims=keepdims)
    if not isinstance(ord, (int, float)) or ord <= 0:
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}.")
    return execute("Sum", magnitude**ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _is_pair(axis):
    return isinstance(axis, (list, tuple)) and len(axis) == 2


def _matrix_norm(x, magnitude, ord, axis, keepdims):
    if ord not in (1, 2, np.inf):
        raise ValueError(f"'ord' must be a supported matrix norm in [euclidean, fro, 1, 2, inf], got {ord}")
    rank = x.shape.rank
    rows, columns = (axis_of(a, x) for a in axis)
    if ord == 2:
        order = [i for i in range(rank) if i not in (rows, columns)] + [rows, columns]
        values = execute("Svd", execute("Transpose", x, perm=order), compute_uv=False)[0]
        largest = execute("Max", values, axis=-1)
        if keepdims:
            for a in sorted((rows, columns)):
                largest = execute("ExpandDims", largest, axis=a)
        return largest
    summed, compared = (rows, columns) if ord == 1 else (columns, rows)
    sums = execute(_Sum, magnitude, axis=summed, keepdims=True)
    result = execute("Max", sums, axis=compared, keepdims=True)
    return result if keepdims else execute("Squeeze", result, axis=sorted((rows, columns)))


def trace(x, name=None):
    """Sums of diagonals."""
    return execute(_Sum, execute("MatrixDiagPartV3", convert_to_tensor(x)), axis=-1)


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """Swaps the last two dimensions."""
    a = convert_to_tensor(a)
    rank = a.shape.rank
    if rank is None:
        outer, (rows, columns) = outer_sizes(a, 2), (size_of(a, -2), size_of(a, -1))
        turned = execute("Transpose", with_sizes(a, [-1], [rows, columns]), perm=[0, 2, 1], conjugate=conjugate)
        return with_sizes(turned, outer, [columns, rows])
    if rank < 2:
        raise ValueError(
            f"Argument `a` should be a (batch) matrix with rank >= 2. Received `a` = {a} with shape: "
            f"{a.shape}"
        )
    return execute("Transpose", a, perm=[*range(rank - 2), rank - 1, rank - 2], conjugate=conjugate)


def adjoint(matrix, name=None):
    """Transposes and conjugates the last two dimensions."""
    return matrix_transpose(matrix, conjugate=True)


def logdet(matrix, name=None):
    """Logarithm of the determinant of positive definite matrices."""
    return _core.functions.logdet(matrix)


def pinv(a, rcond=None, validate_args=False, name=None):
    """Pseudo-inverse of matrices."""
    return _core.functions.pinv(a, None if rcond is None else float(rcond))


def matrix_rank(a, tol=None, validate_args=False, name=None):
    """Number of singular values above a tolerance."""
    return _core.functions.matrix_rank(a, None if tol is None else float(tol))


def lstsq(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """Solutions of linear equations in the sense of least squares."""
    matrix = convert_to_tensor(matrix)
    if matrix.shape.rank is not None and None in matrix.shape.as_list()[-2:]:
        return _lstsq_later(matrix, convert_to_tensor(rhs, matrix.dtype), l2_regularizer)
    return _core.functions.lstsq(matrix, rhs, float(l2_regularizer))


def _lstsq_later(matrix, rhs, l2_regularizer):
    """Of matrices of which only a run knows whether they have more rows or more columns."""
    from tandem.ops.control_flow import cond

    sizes = execute("Shape", matrix)
    tall = sizes[-2] >= sizes[-1]

    def solved(product, right):
        count = execute("Shape", product)[-1]
        places = execute("Range", 0, count, 1)
        one = execute(_Cast, execute("Equal", places[:, None], places), dtype=matrix.dtype)
        return execute("MatrixSolve", product + one * convert_to_tensor(l2_regularizer, matrix.dtype), right)

    def of_tall():
        return solved(matmul(matrix, matrix, adjoint_a=True), matmul(matrix, rhs, adjoint_a=True))

    def of_wide():
        return matmul(matrix, solved(matmul(matrix, matrix, adjoint_b=True), rhs), adjoint_a=True)

    return cond(tall, of_tall, of_wide)


def cholesky_solve(chol, rhs, name=None):
    """Solves systems from Cholesky factors."""
    return _core.functions.cholesky_solve(chol, rhs)


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Singular values and vectors of matrices."""
    s, u, v = execute("Svd", tensor, compute_uv=compute_uv, full_matrices=full_matrices)
    return (s, u, v) if compute_uv else s


def diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT"):
    """Matrices with given bands of diagonals."""
    diagonal = convert_to_tensor(diagonal)
    if late_diagonals.is_later(k) and (num_rows, num_cols) == (-1, -1):
        return late_diagonals.diag(diagonal, k, _padding(padding_value, diagonal.dtype))
    lower, upper = _band(k)
    return execute(
        "MatrixDiagV3", diagonal, _padding(padding_value, diagonal.dtype), lower=lower, upper=upper,
        num_rows=num_rows, num_cols=num_cols, align=align,
    )  # fmt: skip


def diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT"):
    """The bands of diagonals of matrices."""
    if hasattr(input, "_diag_part"):  # a linear operator
        return input.diag_part()
    input = convert_to_tensor(input)
    if late_diagonals.is_later(k):
        return late_diagonals.diag_part(input, k)
    lower, upper = _band(k)
    return execute(
        "MatrixDiagPartV3", input, _padding(padding_value, input.dtype), lower=lower, upper=upper, align=align
    )


def band_part(input, num_lower, num_upper, name=None):
    """Matrices with zeros outside a band around the diagonal; a negative number keeps a whole triangle."""
    if not any(getattr(n, "_symbolic", False) for n in (num_lower, num_upper)):
        return execute("MatrixBandPart", input, num_lower=int(num_lower), num_upper=int(num_upper))
    # A width that is known only when the function runs: each element is compared with it.
    input = convert_to_tensor(input)
    num_lower, num_upper = (check_scalar_integer(n) for n in map(convert_to_tensor, (num_lower, num_upper)))
    lower, upper = (execute("Cast", n, dtype="int64") for n in (num_lower, num_upper))
    shape = execute("Shape", input)
    rows = execute("ExpandDims", execute("Range", 0, shape[-2], 1), axis=1)
    below = execute("Cast", rows - execute("Range", 0, shape[-1], 1), dtype="int64")
    keep = execute(
        "LogicalAnd", execute("LogicalOr", lower < 0, below <= lower), execute("LogicalOr", upper < 0, -below <= upper)
    )
    return execute("SelectV2", keep, input, execute("ZerosLike", input))


def check_scalar_integer(tensor):
    """The tensor, which is to be one integer."""
    if not tensor.dtype.is_integer:
        raise TypeError(f"An integer is wanted, got a tensor of {tensor.dtype!r}.")
    return with_rank(tensor, 0, 0)


def _padding(value, dtype):
    return convert_to_tensor(bool(value) if dtype.is_bool else value, dtype)


def _band(k):
    if np.ndim(k) == 0:
        return int(k), int(k)
    if np.ndim(k) != 1 or len(k) not in (1, 2):
        raise InvalidArgumentError(None, None, f"k must have one or two elements, got {k}.")
    return int(k[0]), int(k[-1])


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """x divided by its norm over axes."""
    x = convert_to_tensor(x)
    if dim is not None:  # the old name of axis
        if axis is not None:
            raise ValueError("Cannot specify both 'axis' and 'dim'.")
        axis = dim
    squares = execute(_Sum, execute("Square", x), axis=axis, keepdims=True)
    return x * execute("Rsqrt", execute(_Maximum, squares, epsilon))


def _dense_values(t):
    return t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t)


def _with_values(t, values):
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values


def clip_by_norm(t, clip_norm, axes=None, name=None):
    """t, scaled down where its norm exceeds a limit."""
    values = _dense_values(t)
    squares = execute(_Sum, values * values, axis=axes, keepdims=True)
    positive = squares > 0
    safe = execute("SelectV2", positive, squares, execute("OnesLike", squares))
    length = execute("SelectV2", positive, execute(_Sqrt, safe), squares)
    limit = convert_to_tensor(clip_norm, values.dtype)
    return _with_values(t, values * limit / execute(_Maximum, length, limit))


def global_norm(t_list, name=None):
    """Norm of several tensors taken as one."""
    if isinstance(t_list, str) or not isinstance(t_list, collections.abc.Sequence):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    halves = [execute("L2Loss", _dense_values(t)) for t in t_list if t is not None]
    if not halves:
        return convert_to_tensor(0.0)
    total = execute(_Sum, execute("Pack", halves, axis=0))
    return execute(_Sqrt, total * 2.0)


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """All tensors scaled down together where their norm exceeds a limit."""
    length = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
    scale = clip_norm * execute("Minimum", 1.0 / length, 1.0 / convert_to_tensor(clip_norm, length.dtype))
    # A norm that is not finite makes all of them NaN, as in TensorFlow.
    scale = scale + (length - length)
    clipped = [None if t is None else _with_values(t, _dense_values(t) * scale) for t in t_list]
    return clipped, length


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=int32, name=None, axis=None, binary_output=False):
    """How often each small integer occurs, for all values or for each row."""
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    if hasattr(arr, "row_splits") or hasattr(arr, "dense_shape"):
        return _bincount_of_parts(arr, weights, minlength, maxlength, dtype, axis, binary_output)
    arr = convert_to_tensor(arr)
    if not arr.dtype.is_integer:
        arr = execute(_Cast, arr, dtype=int32)
    elif arr.dtype not in (int32, int64):
        raise InvalidArgumentError(None, None, f"tf.math.bincount takes int32 and int64, got {arr.dtype!r}. Cast it.")
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    if axis != -1:
        arr = execute("Reshape", arr, [-1])
        weights = None if weights is None else execute("Reshape", convert_to_tensor(weights), [-1])
    kind = as_dtype(dtype) if weights is None else convert_to_tensor(weights).dtype
    weights = convert_to_tensor([], kind) if weights is None else weights
    size = _size_of_counts(arr, minlength, maxlength)
    known = _core.static_value(arr) if size._symbolic and minlength is None and maxlength is None else None
    if size._symbolic or int(size) > arr.dtype.max:
        arr = execute(_Cast, arr, dtype=int64)
    counts = execute("DenseBincount", arr, execute(_Cast, size, dtype=arr.dtype), weights, binary_output=binary_output)
    if known is not None and known.size and counts.shape.rank is not None:
        counts.set_shape([*counts.shape.as_list()[:-1], int(known.max()) + 1])
    return counts


def _size_of_counts(arr, minlength, maxlength):
    """How many counts there are; known where the two lengths leave no choice."""
    if isinstance(minlength, int) and isinstance(maxlength, int) and minlength >= maxlength:
        return _length(max(maxlength, 0))
    size = _one_more_than_the_largest(arr)
    if minlength is not None:
        size = execute(_Maximum, size, _length(minlength))
    return size if maxlength is None else execute("Minimum", size, execute(_Maximum, _length(maxlength), 0))


def _bincount_of_parts(arr, weights, minlength, maxlength, dtype, axis, binary_output):
    """bincount() of the values that a ragged or sparse tensor has: of all, or of each row."""
    ragged = hasattr(arr, "row_splits")
    values = arr.flat_values if ragged else arr.values
    if weights is not None:
        weights = weights.flat_values if hasattr(weights, "flat_values") else getattr(weights, "values", weights)
    if axis != -1 or (not ragged and arr.shape.rank == 1):
        return bincount(values, weights, minlength, maxlength, dtype, binary_output=binary_output)
    rows = arr.value_rowids() if ragged else arr.indices[:, 0]
    count = execute(_Cast, arr.nrows() if ragged else arr.dense_shape[0], dtype=int64)
    values, rows = execute(_Cast, values, dtype=int64), execute(_Cast, rows, dtype=int64)
    size = execute(_Cast, _size_of_counts(values, minlength, maxlength), dtype=int64)
    # Each row counts in a range of its own; what is too large counts in a range behind all.
    places = execute("SelectV2", values < size, rows * size + values, count * size)
    made = bincount(places, weights, count * size + 1, count * size + 1, dtype, binary_output=binary_output)
    made = execute("Reshape", made[:-1], execute("Pack", [count, size], axis=0))
    known = _core.static_value(size)
    made.set_shape([None, None if known is None else int(known)])
    return made


def _length(value):
    length = convert_to_tensor(value) if isinstance(value, _core.Tensor) else convert_to_tensor(value, int64)
    if not length.dtype.is_integer:
        raise TypeError(f"A length must be an integer, got a tensor of {length.dtype!r}.")
    return execute(_Cast, length, dtype=int64)


def _one_more_than_the_largest(*tensors):
    """Of non-negative integers, as an int64 that a function need not know while it is traced; 0 where there are none."""
    flat = [execute("Reshape", execute(_Cast, x, dtype=int64), [-1]) for x in tensors]
    flat = execute("ConcatV2", [convert_to_tensor([-1], int64), *flat], axis=0)
    return execute("Max", flat) + 1


def confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype=int32, name=None):
    """Counts of predictions by label."""
    labels, predictions = (execute(_Cast, x, dtype=int64) for x in (labels, predictions))
    if num_classes is None:
        num_classes = _one_more_than_the_largest(labels, predictions)
    dtype = as_dtype(dtype)
    values = execute("OnesLike", labels, dtype=dtype) if weights is None else execute(_Cast, weights, dtype=dtype)
    places = execute("Pack", [labels, predictions], axis=1)
    if isinstance(num_classes, _core.Tensor):
        num_classes = execute(_Cast, num_classes, dtype=int64)
    shape = convert_sizes([num_classes] * 2, int64)
    return execute("ScatterNd", places, values, shape)
