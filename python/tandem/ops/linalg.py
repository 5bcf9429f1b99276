"""The rest of tf.linalg, made of ops."""

import math

from tandem._core import convert_to_tensor, execute
from tandem.ops import late_diagonals
from tandem.ops import check
from tandem.ops.control_flow import while_loop
from tandem.ops.math import _band, matmul, matrix_transpose, norm
from tandem.ops.ranks import by_rank


def _identity_like(x):
    """An identity matrix for each matrix of x."""
    # Not x[..., 0], which a matrix of no columns does not have.
    ones = execute("OnesLike", execute("MatrixDiagPartV3", x))
    return execute("MatrixDiagV3", ones)


def normalize(tensor, ord="euclidean", axis=None, name=None):
    """The tensor over its norm, and the norm."""
    tensor = convert_to_tensor(tensor)
    size = norm(tensor, ord=ord, axis=axis, keepdims=True)
    size = size if size.dtype is tensor.dtype else execute("Cast", size, dtype=tensor.dtype)
    return tensor / size, size


def set_diag(input, diagonal, name="set_diag", k=0, align="RIGHT_LEFT"):
    """Matrices with other diagonals."""
    if late_diagonals.is_later(k):
        input = convert_to_tensor(input)  # noqa: A001
        return late_diagonals.set_diag(input, convert_to_tensor(diagonal, input.dtype), k)
    lower, upper = _band(k)
    return execute("MatrixSetDiagV3", input, diagonal, lower=lower, upper=upper, align=align)


# Coefficients of the numerator of the Padé approximant of order 13 of the exponential.
_PADE = [
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
]  # fmt: skip
_PADE_RADIUS = 5.371920351148152


def expm(input, name=None):
    """Matrix exponential: scaled down, approximated by a ratio of polynomials, squared back."""
    a = convert_to_tensor(input)
    if a.shape.rank is not None and a.shape.rank < 2:
        raise ValueError(f"Argument `input` must have rank at least 2, got shape {a.shape}.")
    if a.shape.rank is not None and not a.shape[-2:-1].is_compatible_with(a.shape[-1:]):
        raise ValueError(f"Argument `input` must be square matrices, got shape {a.shape}.")
    if a.shape.rank is not None and 0 in a.shape.as_list()[-2:]:
        return execute("Identity", a)
    size = execute("Max", execute("Sum", execute("ComplexAbs" if a.dtype.is_complex else "Abs", a), axis=[-2]))
    if size._symbolic:
        halvings = execute("Log", execute("Maximum", execute("Cast", size, dtype="float64"), 1e-30) / _PADE_RADIUS) / math.log(2.0)
        # Of what is not finite no power is; a number of turns it is not either.
        squarings = execute("Cast", execute("ClipByValue", execute("Ceil", halvings), 0.0, 1024.0), dtype="int32")
        a = a * execute("Cast", execute("Pow", 0.5, execute("Cast", squarings, dtype="float64")), dtype=a.dtype)
    else:
        squarings = max(0, math.ceil(math.log2(max(float(size), 1e-30) / _PADE_RADIUS)))
        a = a * convert_to_tensor(0.5**squarings, a.dtype)
    eye = _identity_like(a)
    c = [convert_to_tensor(float(v), a.dtype) for v in _PADE]
    a2 = matmul(a, a)
    a4 = matmul(a2, a2)
    a6 = matmul(a4, a2)
    odd = matmul(a6, c[13] * a6 + c[11] * a4 + c[9] * a2) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * eye
    even = matmul(a6, c[12] * a6 + c[10] * a4 + c[8] * a2) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * eye
    odd = matmul(a, odd)
    result = execute("MatrixSolve", even - odd, even + odd)
    if size._symbolic:
        return while_loop(lambda i, _: i < squarings, lambda i, x: (i + 1, matmul(x, x)), [0, result])[1]
    for _ in range(squarings):
        result = matmul(result, result)
    return result


def _by_eigenvalues(input, function):
    """A function of matrices that can be diagonalised."""
    a = convert_to_tensor(input)
    values, vectors = execute("Eig", a)
    scaled = vectors * function(values)[..., None, :]
    # vectors · diag(f) · vectors⁻¹, by solving instead of inverting.
    solved = execute("MatrixSolve", matrix_transpose(vectors), matrix_transpose(scaled))
    result = matrix_transpose(solved)
    return result if a.dtype.is_complex else execute("Real", result)


def sqrtm(input, name=None):
    """Principal square roots of matrices."""
    return _by_eigenvalues(input, lambda v: execute("Sqrt", v))


def logm(input, name=None):
    """Principal logarithms of matrices."""
    return _by_eigenvalues(input, lambda v: execute("Log", v))


def _factors(lower_upper, perm):
    """What lu() gave: square matrices, and for each the order of its rows."""
    both, perm = check.with_rank(lower_upper, 2), convert_to_tensor(perm)
    if None not in (both.shape.rank, perm.shape.rank) and both.shape.rank != perm.shape.rank + 1:
        raise ValueError(f"`rank(lower_upper)` must equal `rank(perm) + 1`, got shapes {both.shape} and {perm.shape}.")
    if not both.shape[-2:-1].is_compatible_with(both.shape[-1:]):
        raise ValueError(f"`lower_upper` must be square, got shape {both.shape}.")
    count = execute("Shape", both, out_type=perm.dtype)[-1]
    rows = execute("Range", execute("ZerosLike", count), count, execute("OnesLike", count))
    check.assert_equal(execute("Sort", perm), rows, message="perm must name each row of lower_upper once.")
    return both, perm


def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """The matrices that lu() took apart."""
    both, perm = _factors(lower_upper, perm)
    lower = execute("MatrixBandPart", both, num_lower=-1, num_upper=0)
    lower = execute("MatrixSetDiagV3", lower, execute("OnesLike", both[..., 0]))
    upper = execute("MatrixBandPart", both, num_lower=0, num_upper=-1)
    product = matmul(lower, upper)
    return _ordered(product, _inverse(perm))


def _ordered(matrices, perm):
    """The rows of each matrix in the order that is given for it."""
    if matrices.shape.rank is None:
        return by_rank(lambda known: _ordered(known, perm), matrices, 2)
    batch = matrices.shape.rank - 2
    return execute("GatherV2", matrices, perm, axis=batch, batch_dims=batch)


def _inverse(perm):
    return execute("ArgSort", perm, axis=-1)


def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """Solves systems from what lu() gave."""
    both, perm = _factors(lower_upper, perm)
    rhs = check.with_rank(rhs, 2)
    same = "`lower_upper.shape[-1]` must equal `rhs.shape[-2]`"
    if not both.shape[-1:].is_compatible_with(rhs.shape[-2:-1]):
        raise ValueError(f"{same}, got shapes {both.shape} and {rhs.shape}.")
    check.assert_equal(execute("Shape", both)[-1], execute("Shape", rhs)[-2], message=f"{same}.")
    ordered = _ordered(rhs, perm)
    lower = execute("MatrixSetDiagV3", both, execute("OnesLike", both[..., 0]))
    half = execute("MatrixTriangularSolve", lower, ordered, lower=True)
    return execute("MatrixTriangularSolve", both, half, lower=False)


def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
    """Inverses from what lu() gave."""
    return lu_solve(lower_upper, perm, _identity_like(convert_to_tensor(lower_upper)))


def _three(diagonals, form, size=None):
    """Upper, main and lower diagonal, each as long as the matrix: position i belongs to row i."""
    if form == "matrix":
        matrix = convert_to_tensor(diagonals)
        part = lambda k: execute("MatrixDiagPartV3", matrix, lower=k, upper=k)  # noqa: E731
        upper, main, lower = part(1), part(0), part(-1)
    elif form == "sequence":
        upper, main, lower = (convert_to_tensor(d) for d in diagonals)
    elif form == "compact":
        compact = convert_to_tensor(diagonals)
        return compact[..., 0, :], compact[..., 1, :], compact[..., 2, :]
    else:
        raise ValueError(f"Expected diagonals_format to be 'matrix', 'sequence' or 'compact', got {form}")
    n = main.shape[-1]
    zero = execute("ZerosLike", main[..., :1])
    if n is None:
        raise ValueError(f"The size of the diagonals must be known while the function is traced, got shape {main.shape}.")
    if upper.shape[-1] == n - 1:
        upper = execute("ConcatV2", [upper, zero], axis=-1)
    if lower.shape[-1] == n - 1:
        lower = execute("ConcatV2", [zero, lower], axis=-1)
    return upper, main, lower


def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """Products of matrices with three diagonals."""
    upper, main, lower = _three(diagonals, diagonals_format)
    rhs = convert_to_tensor(rhs)
    zero = execute("ZerosLike", rhs[..., :1, :])
    below = execute("ConcatV2", [rhs[..., 1:, :], zero], axis=-2)
    above = execute("ConcatV2", [zero, rhs[..., :-1, :]], axis=-2)
    return upper[..., None] * below + main[..., None] * rhs + lower[..., None] * above


def tridiagonal_solve(
    diagonals, rhs, diagonals_format="compact", transpose_rhs=False, conjugate_rhs=False, name=None,
    partial_pivoting=True, perturb_singular=False,
):  # fmt: skip
    """Solves systems of matrices with three diagonals, with pivoting."""
    upper, main, lower = _three(diagonals, diagonals_format)
    rhs = convert_to_tensor(rhs)
    vector = rhs.shape.rank is not None and rhs.shape.rank == main.shape.rank
    if vector:
        rhs = rhs[..., None]
    elif transpose_rhs:
        rhs = matrix_transpose(rhs, conjugate=conjugate_rhs)
    matrix = execute("MatrixDiagV3", main)
    if main.shape[-1] is None or main.shape[-1] > 1:
        matrix = matrix + execute("MatrixDiagV3", upper[..., :-1], lower=1, upper=1) + execute("MatrixDiagV3", lower[..., 1:], lower=-1, upper=-1)
    solved = execute("MatrixSolve", matrix, rhs)
    return solved[..., 0] if vector else solved


def eigh_tridiagonal(alpha, beta, eigvals_only=True, select="a", select_range=None, tol=None, name=None):
    """Eigenvalues of symmetric matrices with three diagonals, all or those in a range."""
    alpha, beta = check.with_rank(alpha, 1), check.with_rank(beta, 1)
    matrix = execute("MatrixDiagV3", alpha)
    if None not in (alpha.shape.rank, beta.shape.rank) and None not in (alpha.shape[-1], beta.shape[-1]):
        check.require(beta.shape[-1] == max(alpha.shape[-1] - 1, 0), f"`beta` of shape {beta.shape} does not lie beside `alpha` of {alpha.shape}.")
    else:
        check.assert_equal(execute("Shape", beta)[-1], execute("Maximum", execute("Shape", alpha)[-1] - 1, 0),
                           message="`beta` must have one element less than `alpha`.")  # fmt: skip
    size = alpha.shape[-1] if alpha.shape.rank is not None else None
    if size is None or size > 1:
        matrix = matrix + execute("MatrixDiagV3", beta, lower=-1, upper=-1)
        other = execute("Conj", beta) if beta.dtype.is_complex else beta
        matrix = matrix + execute("MatrixDiagV3", other, lower=1, upper=1)
    values, vectors = execute("SelfAdjointEigV2", matrix)
    values = execute("Real", values) if values.dtype.is_complex else values
    if select == "i":
        first, last = select_range
        if first > last:
            raise ValueError("Got empty index range in select_range.")
        values, vectors = values[..., first : last + 1], vectors[..., first : last + 1]
    elif select == "v":
        low, high = select_range
        if low >= high:
            raise ValueError("Got empty interval in select_range.")
        keep = execute("LogicalAnd", values > low, values <= high)
        kept = execute("Where", keep)[:, 0]
        values, vectors = execute("GatherV2", values, kept), execute("GatherV2", vectors, kept, axis=1)
    elif select != "a":
        raise ValueError(f"'select' must have a value in {{'a', 'i', 'v'}}, got {select}")
    return values if eigvals_only else (values, vectors)


def banded_triangular_solve(bands, rhs, lower=True, adjoint=False, name=None):
    """Solutions for triangular matrices of a few diagonals, which are the rows of `bands`: the main one first where
    the matrix is lower triangular, and last where it is upper."""
    bands, rhs = check.with_rank(bands, 2), convert_to_tensor(rhs)
    count = bands.shape[-2]
    if count is None:
        raise ValueError(f"banded_triangular_solve: the number of bands must be known, got shape {bands.shape}.")
    if count == 1:
        bands = execute("MatrixDiagV3", bands[..., 0, :])
    elif lower:  # the k-th row holds the k-th diagonal below, from column 0 on behind k numbers that do not count
        bands = execute("MatrixDiagV3", execute("ReverseV2", bands, axis=[-2]), convert_to_tensor(0, bands.dtype),
                        lower=0, upper=count - 1, align="RIGHT_RIGHT")  # fmt: skip
        bands = matrix_transpose(bands)
    else:
        bands = execute("MatrixDiagV3", bands, convert_to_tensor(0, bands.dtype), lower=0, upper=count - 1, align="LEFT_LEFT")
    from tandem.ops.linear.parts import triangular_solve

    return triangular_solve(bands, rhs, lower=lower, adjoint=adjoint)
