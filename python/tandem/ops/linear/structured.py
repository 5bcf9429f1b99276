"""Operators of a few vectors: reflections, permutations, Toeplitz and tridiagonal matrices."""

from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import float32
from tandem.ops import linalg
from tandem.ops.linear import parts
from tandem.ops.linear.base import LinearOperator, shape_with


class LinearOperatorHouseholder(LinearOperator):
    """The reflection at the plane across an axis."""

    _fields = ("reflection_axis",)

    def __init__(self, reflection_axis, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorHouseholder"):  # fmt: skip
        given = dict(locals())
        self._reflection_axis = parts.tensor_of(reflection_axis)
        if self._reflection_axis.shape.rank == 0:
            raise ValueError("Argument reflection_axis must have at least 1 dimension.")
        if is_self_adjoint is False:
            raise ValueError("A Householder operator is always self adjoint.")
        if is_positive_definite is True:
            raise ValueError("A Householder operator is always non-positive definite.")
        if is_square is False:
            raise ValueError("A Householder operator is always square.")
        super().__init__(self._reflection_axis.dtype, None, is_non_singular, True, False, True, name, given)

    reflection_axis = property(lambda self: self._reflection_axis)

    def _shape(self):
        shape = self._reflection_axis.shape
        return shape_with(shape[:-1], shape[-1], shape[-1])

    def _shape_tensor(self):
        sizes = execute("Shape", convert_to_tensor(self._reflection_axis))
        return execute("ConcatV2", [sizes, sizes[-1:]], axis=0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = parts.adjoint(x) if adjoint_arg else x
        axis = convert_to_tensor(self._reflection_axis)
        axis = axis / execute("Sqrt", execute("Sum", axis * parts.conj(axis), axis=[-1], keepdims=True))
        axis = axis[..., None]
        return x - 2 * axis * parts.matmul(axis, x, adjoint_a=True)

    def _solve(self, rhs, adjoint=False):
        return self._matmul(rhs)

    def _determinant(self):
        return execute("Neg", execute("OnesLike", convert_to_tensor(self._reflection_axis)[..., 0]))

    def _log_abs_determinant(self):
        return execute("ZerosLike", convert_to_tensor(self._reflection_axis)[..., 0])

    def _to_dense(self):
        axis = convert_to_tensor(self._reflection_axis)
        return self._matmul(parts.diag(execute("OnesLike", axis)))

    def _eigvals(self):
        ones = execute("OnesLike", convert_to_tensor(self._reflection_axis))
        return execute("ConcatV2", [execute("Neg", ones[..., :1]), ones[..., 1:]], axis=-1)

    def _inverse(self):
        return self

    def cond(self, name="cond"):
        return execute("OnesLike", convert_to_tensor(self._reflection_axis)[..., 0])


class LinearOperatorPermutation(LinearOperator):
    """Row i of the product is row perm[i] of the argument."""

    _fields = ("perm",)

    def __init__(self, perm, dtype=float32, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=None, name="LinearOperatorPermutation"):  # fmt: skip
        given = dict(locals())
        self._perm = parts.tensor_of(perm)
        if self._perm.shape.rank == 0:
            raise ValueError("Argument `perm` must have at least 1 dimension.")
        if not self._perm.dtype.is_integer:
            raise TypeError(f"Argument `perm` must be integer dtype. Found: {self._perm}")
        if is_non_singular is False:
            raise ValueError(f"A Permutation operator is always non-singular. Found: {is_non_singular}")
        if is_square is False:
            raise ValueError(f"A Permutation operator is always square. Found: {is_square}")
        super().__init__(dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, given)

    perm = property(lambda self: self._perm)

    def _shape(self):
        shape = self._perm.shape
        return shape_with(shape[:-1], shape[-1], shape[-1])

    def _shape_tensor(self):
        sizes = execute("Shape", convert_to_tensor(self._perm))
        return execute("ConcatV2", [sizes, sizes[-1:]], axis=0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = parts.adjoint(x) if adjoint_arg else x
        perm = convert_to_tensor(self._perm)
        perm = execute("ArgSort", perm, axis=-1) if adjoint else perm
        if perm.shape.rank == 1:
            return execute("GatherV2", x, perm, axis=x.shape.rank - 2)
        x, places = parts.broadcast_batches(x, perm[..., None])
        return execute("GatherV2", x, places[..., 0], axis=x.shape.rank - 2, batch_dims=x.shape.rank - 2)

    def _solve(self, rhs, adjoint=False):
        return self._matmul(rhs, adjoint=not adjoint)

    def _to_dense(self):
        perm = convert_to_tensor(self._perm)
        one, zero = convert_to_tensor(1, self.dtype), convert_to_tensor(0, self.dtype)
        return execute("OneHot", perm, execute("Shape", perm)[-1], one, zero, axis=-1)

    def _log_abs_determinant(self):
        return execute("Cast", execute("ZerosLike", convert_to_tensor(self._perm)[..., 0]), dtype=self.dtype)

    def cond(self, name="cond"):
        return execute("Cast", execute("OnesLike", convert_to_tensor(self._perm)[..., 0]), dtype=self.dtype)


class LinearOperatorToeplitz(LinearOperator):
    """A matrix whose diagonals are constant, by its first column and its first row."""

    _fields = ("col", "row")

    def __init__(self, col, row, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorToeplitz"):  # fmt: skip
        given = dict(locals())
        self._row, self._col = parts.tensor_of(row), parts.tensor_of(col)
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        super().__init__(self._row.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, given)

    row = property(lambda self: self._row)
    col = property(lambda self: self._col)

    def _both(self):
        return parts.broadcast_batches(convert_to_tensor(self._row), convert_to_tensor(self._col), last=1)

    def _shape(self):
        from tandem.ops.array import broadcast_static_shape

        shape = broadcast_static_shape(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self):
        sizes = execute("Shape", self._both()[0])
        return execute("ConcatV2", [sizes, sizes[-1:]], axis=0)

    def _to_dense(self):
        row, col = self._both()
        # One vector from the lower left corner to the upper right one.
        values = execute("ConcatV2", [execute("ReverseV2", col, axis=[-1]), row[..., 1:]], axis=-1)
        size = execute("Shape", row)[-1]
        numbers = execute("Range", 0, size, 1)
        return execute("GatherV2", values, (size - 1) + numbers[None, :] - numbers[:, None], axis=values.shape.rank - 1)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        """By a circulant matrix of twice the size."""
        x = parts.adjoint(x) if adjoint_arg else x
        row, col = self._both()
        if adjoint:
            row, col = parts.conj(col), parts.conj(row)
        wide = execute("ConcatV2", [col, execute("ZerosLike", col[..., :1]), execute("ReverseV2", row[..., 1:], axis=[-1])], axis=-1)
        kind = "complex128" if self.dtype.name in ("float64", "complex128") else "complex64"
        size = execute("Shape", row)[-1]
        turned = execute("Cast", _transposed(x), dtype=kind)
        padding = execute("Pad", turned, convert_to_tensor([[0, 0]] * (x.shape.rank - 1) + [[0, int(row.shape[-1])]]))
        product = execute("FFT", padding) * execute("FFT", execute("Cast", wide, dtype=kind))[..., None, :]
        found = execute("IFFT", product)[..., :size]
        found = found if self.dtype.is_complex else execute("Real", found)
        return _transposed(execute("Cast", found, dtype=self.dtype))

    def _trace(self):
        row = convert_to_tensor(self._both()[0])
        return self._first() * execute("Cast", execute("Shape", row)[-1], dtype=self.dtype)

    def _first(self):
        return self._both()[1][..., 0]

    def _diag_part(self):
        return execute("BroadcastTo", self._first()[..., None], execute("Shape", self._both()[1]))


def _transposed(x):
    order = list(range(x.shape.rank))
    order[-1], order[-2] = order[-2], order[-1]
    return execute("Transpose", x, perm=order)


class LinearOperatorTridiag(LinearOperator):
    """A matrix of three diagonals: `compact` in rows of one tensor, as a `sequence`, or as a whole `matrix`."""

    _fields = ("diagonals",)

    def __init__(self, diagonals, diagonals_format="compact", is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=None, name="LinearOperatorTridiag"):  # fmt: skip
        given = dict(locals())
        if diagonals_format not in ("compact", "sequence", "matrix"):
            raise ValueError(f"Argument `diagonals_format` must be one of compact, matrix, or sequence. Found : {diagonals_format}")
        if is_square is False:
            raise ValueError("Only square tridiagonal operators currently supported.")
        self._format = diagonals_format
        if diagonals_format == "sequence":
            self._diagonals = [parts.tensor_of(d) for d in diagonals]
            kind = self._diagonals[0].dtype
        else:
            self._diagonals = parts.tensor_of(diagonals)
            kind = self._diagonals.dtype
        super().__init__(kind, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, given)

    diagonals = property(lambda self: self._diagonals)
    diagonals_format = property(lambda self: self._format)

    def _rows(self):
        """Above, on and below the diagonal, as rows of one tensor: [..., 3, n]."""
        if self._format == "compact":
            return convert_to_tensor(self._diagonals)
        if self._format == "matrix":
            return execute("MatrixDiagPartV3", self._diagonals, convert_to_tensor(0, self.dtype), lower=-1, upper=1, align="LEFT_RIGHT")
        return execute("Pack", parts.broadcast_batches(*map(convert_to_tensor, self._diagonals), last=1), axis=-2)

    def _shape(self):
        if self._format == "matrix":
            return self._diagonals.shape
        shape = self._rows().shape
        return shape_with(shape[:-2], shape[-1], shape[-1])

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = parts.adjoint(x) if adjoint_arg else x
        rows = self._turned() if adjoint else self._rows()
        rows, x = parts.broadcast_batches(rows, x)
        return linalg.tridiagonal_matmul(rows, x)

    def _turned(self):
        above, on, below = (parts.conj(self._rows()[..., i, :]) for i in range(3))
        from tandem.ops.numpy_arrays import roll

        return execute("Pack", [roll(below, -1, -1), on, roll(above, 1, -1)], axis=-2)

    def _solve(self, rhs, adjoint=False):
        rows, rhs = parts.broadcast_batches(self._turned() if adjoint else self._rows(), rhs)
        return linalg.tridiagonal_solve(rows, rhs)

    def _diag_part(self):
        return self._rows()[..., 1, :]

    def _to_dense(self):
        if self._format == "matrix":
            return convert_to_tensor(self._diagonals)
        return execute("MatrixDiagV3", self._rows(), convert_to_tensor(0, self.dtype), lower=-1, upper=1, align="LEFT_RIGHT")
