"""Operators of one tensor: diagonals, identities, zeros, whole and triangular matrices."""

from tandem._core import convert_to_tensor, execute
from tandem.framework.shape import TensorShape
from tandem.ops import check
from tandem.ops.linear import parts
from tandem.ops.linear.base import LinearOperator, shape_with


class LinearOperatorDiag(LinearOperator):
    """A diagonal matrix."""

    _fields = ("diag",)

    def __init__(self, diag, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorDiag"):  # fmt: skip
        given = dict(locals())
        self._diag = parts.tensor_of(diag)
        if self._diag.shape.rank == 0:
            raise ValueError("Argument `diag` must have at least 1 dimension. Found shape ().")
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        super().__init__(self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, given)

    diag = property(lambda self: self._diag)

    def _shape(self):
        shape = self._diag.shape
        return shape if shape.rank is None else shape_with(shape[:-1], shape[-1], shape[-1])

    def _shape_tensor(self):
        sizes = execute("Shape", convert_to_tensor(self._diag))
        return execute("ConcatV2", [sizes, sizes[-1:]], axis=0)

    def assert_non_singular(self, name="assert_non_singular"):
        check.assert_none_equal(self._diag, convert_to_tensor(0, self.dtype), message="Singular operator:  Diagonal contained zero values.")

    def assert_positive_definite(self, name="assert_positive_definite"):
        diag = execute("Real", self._diag) if self.dtype.is_complex else self._diag
        check.assert_positive(diag, message="Operator is not positive definite: a diagonal value was not positive.")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = parts.adjoint(x) if adjoint_arg else x
        return (parts.conj(self._diag) if adjoint else convert_to_tensor(self._diag))[..., None] * x

    def _solve(self, rhs, adjoint=False):
        return rhs / (parts.conj(self._diag) if adjoint else convert_to_tensor(self._diag))[..., None]

    def _determinant(self):
        return execute("Prod", self._diag, axis=[-1])

    def _log_abs_determinant(self):
        return execute("Sum", parts.log_abs(convert_to_tensor(self._diag)), axis=[-1])

    def _to_dense(self):
        return parts.diag(self._diag)

    def _diag_part(self):
        return convert_to_tensor(self._diag)

    def _add_to_tensor(self, x):
        x, diag = parts.broadcast_batches(x, self.to_dense())
        return x + diag

    def _eigvals(self):
        return convert_to_tensor(self._diag)

    def _with(self, diag):
        return LinearOperatorDiag(diag, self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, True)

    def _adjoint(self):
        return self._with(parts.conj(self._diag))

    def _inverse(self):
        return self._with(execute("Reciprocal", self._diag))

    def _cholesky(self):
        return LinearOperatorDiag(execute("Sqrt", self._diag), is_non_singular=True, is_positive_definite=True, is_square=True)


class _BaseIdentity(LinearOperator):
    """Multiples of the identity."""

    def _require_number(self, value, what):
        known = convert_to_tensor(value)
        if known.shape.rank != 0:
            raise ValueError(f"Argument `{what}` must be a 0-D Tensor. Found: {known}")
        if not known.dtype.is_integer:
            raise TypeError(f"Argument `{what}` must be integer type. Found: {value}")
        if not known._symbolic and int(known) < 0:
            raise ValueError(f"Argument `{what}` must be non-negative. Found: {value}")
        return int(known) if not known._symbolic else known


def _batch(shape):
    """A batch shape as a list of numbers, or as a tensor."""
    if shape is None:
        return []
    known = convert_to_tensor(shape, "int32") if not isinstance(shape, TensorShape) else convert_to_tensor(shape.as_list(), "int32")
    if known.shape.rank != 1:
        raise ValueError(f"Argument `batch_shape` must be a 1-D Tensor. Found: {shape}")
    return known if known._symbolic else known.numpy().tolist()


def _known(size):
    return size if isinstance(size, int) else None


def _static(batch):
    return TensorShape(batch) if isinstance(batch, list) else TensorShape([None] * batch.shape[0] if batch.shape[0] is not None else None)


class LinearOperatorIdentity(_BaseIdentity):
    """The identity."""

    def __init__(self, num_rows, batch_shape=None, dtype=None, is_non_singular=True, is_self_adjoint=True,
                 is_positive_definite=True, is_square=True, assert_proper_shapes=False, name="LinearOperatorIdentity"):  # fmt: skip
        given = dict(locals())
        for hint in ("is_self_adjoint", "is_non_singular", "is_positive_definite"):
            if not given[hint]:
                raise ValueError(f"An identity operator is always {hint[3:].replace('_', '-')}: {hint} cannot be {given[hint]}.")
        if not is_square:
            raise ValueError("An identity operator is always square.")
        self._rows, self._batch = self._require_number(num_rows, "num_rows"), _batch(batch_shape)
        super().__init__(dtype or "float32", None, True, True, True, True, name, given)

    def _shape(self):
        return shape_with(_static(self._batch), _known(self._rows), _known(self._rows))

    def _shape_tensor(self):
        size = execute("Reshape", convert_to_tensor(self._rows, "int32"), [1])
        return parts.joined_shape(self._batch, size, size)

    def _spread(self, x):
        """In the batch shape of both."""
        if isinstance(self._batch, list) and not self._batch:
            return x
        sizes = execute("Shape", x)
        batch = parts.common_batch(sizes[:-2], convert_to_tensor(self._batch, "int32"))
        return execute("BroadcastTo", x, execute("ConcatV2", [batch, sizes[-2:]], axis=0))

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._spread(parts.adjoint(x) if adjoint_arg else x)

    def _solve(self, rhs, adjoint=False):
        return self._spread(rhs)

    def _ones(self, *more):
        return execute("Fill", parts.joined_shape(self._batch, *more), convert_to_tensor(1, self.dtype))

    def _determinant(self):
        return self._ones()

    def _log_abs_determinant(self):
        return execute("ZerosLike", self._ones())

    def _diag_part(self):
        return self._ones(execute("Reshape", convert_to_tensor(self._rows, "int32"), [1]))

    _eigvals = _diag_part

    def _to_dense(self):
        return parts.diag(self._diag_part())

    def add_to_tensor(self, mat, name="add_to_tensor"):
        return self.to_dense() + self._argument(mat)

    def _adjoint(self):
        return self

    def _inverse(self):
        return self

    def _cholesky(self):
        return self

    def assert_non_singular(self, name="assert_non_singular"):
        return None

    assert_self_adjoint = assert_positive_definite = assert_non_singular


class LinearOperatorScaledIdentity(_BaseIdentity):
    """The identity times a number."""

    _fields = ("multiplier",)

    def __init__(self, num_rows, multiplier, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=True, assert_proper_shapes=False, name="LinearOperatorScaledIdentity"):  # fmt: skip
        given = dict(locals())
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        self._multiplier, self._rows = parts.tensor_of(multiplier), self._require_number(num_rows, "num_rows")
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal matrix is always self adjoint.")
            is_self_adjoint = True
        super().__init__(self._multiplier.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, given)

    multiplier = property(lambda self: self._multiplier)

    def _shape(self):
        return shape_with(self._multiplier.shape, _known(self._rows), _known(self._rows))

    def _shape_tensor(self):
        size = execute("Reshape", convert_to_tensor(self._rows, "int32"), [1])
        return execute("ConcatV2", [execute("Shape", convert_to_tensor(self._multiplier)), size, size], axis=0)

    def _wide(self, adjoint=False):
        return (parts.conj(self._multiplier) if adjoint else convert_to_tensor(self._multiplier))[..., None, None]

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return (parts.adjoint(x) if adjoint_arg else x) * self._wide(adjoint)

    def _solve(self, rhs, adjoint=False):
        return rhs / self._wide(adjoint)

    def _power(self, x):
        return execute("Cast", convert_to_tensor(self._rows), dtype=x.dtype)

    def _determinant(self):
        multiplier = convert_to_tensor(self._multiplier)
        return execute("Pow", multiplier, self._power(multiplier))

    def _log_abs_determinant(self):
        found = parts.log_abs(convert_to_tensor(self._multiplier))
        return self._power(found) * found

    def _diag_part(self):
        size = execute("Reshape", convert_to_tensor(self._rows, "int32"), [1])
        multiplier = convert_to_tensor(self._multiplier)
        return execute("BroadcastTo", multiplier[..., None], execute("ConcatV2", [execute("Shape", multiplier), size], axis=0))

    _eigvals = _diag_part

    def _to_dense(self):
        return parts.diag(self._diag_part())

    def add_to_tensor(self, mat, name="add_to_tensor"):
        return self.to_dense() + self._argument(mat)

    def _with(self, multiplier, **hints):
        given = dict(is_non_singular=self.is_non_singular, is_self_adjoint=self.is_self_adjoint,
                     is_positive_definite=self.is_positive_definite)  # fmt: skip
        return LinearOperatorScaledIdentity(self._rows, multiplier, **{**given, **hints})

    def _adjoint(self):
        return self._with(parts.conj(self._multiplier))

    def _inverse(self):
        return self._with(execute("Reciprocal", self._multiplier))

    def _cholesky(self):
        return self._with(execute("Sqrt", self._multiplier), is_non_singular=True, is_positive_definite=True)

    def assert_non_singular(self, name="assert_non_singular"):
        check.assert_positive(execute("Abs", self._multiplier), message="LinearOperator was singular")

    def assert_positive_definite(self, name="assert_positive_definite"):
        check.assert_positive(self._multiplier, message="LinearOperator was not positive definite.")


class LinearOperatorZeros(_BaseIdentity):
    """A matrix of zeros."""

    def __init__(self, num_rows, num_columns=None, batch_shape=None, dtype=None, is_non_singular=False, is_self_adjoint=True,
                 is_positive_definite=False, is_square=True, assert_proper_shapes=False, name="LinearOperatorZeros"):  # fmt: skip
        given = dict(locals())
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular or is_positive_definite:
            raise ValueError("A zero operator is always singular and never positive definite.")
        self._rows = self._require_number(num_rows, "num_rows")
        self._columns = self._rows if num_columns is None else self._require_number(num_columns, "num_columns")
        self._batch = _batch(batch_shape)
        super().__init__(dtype or "float32", None, False, is_self_adjoint if is_square else None, False, is_square, name, given)

    def _shape(self):
        return shape_with(_static(self._batch), _known(self._rows), _known(self._columns))

    def _zeros(self, *sizes):
        sizes = [execute("Reshape", convert_to_tensor(s, "int32"), [1]) for s in sizes]
        return execute("Fill", parts.joined_shape(self._batch, *sizes), convert_to_tensor(0, self.dtype))

    def _shape_tensor(self):
        return execute("Shape", self._to_dense())

    def _to_dense(self):
        return self._zeros(self._rows, self._columns)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return parts.matmul(self._to_dense(), x, adjoint, adjoint_arg)

    def _determinant(self):
        return self._zeros()

    def _diag_part(self):
        return parts.diag_part(self._to_dense())

    _eigvals = _diag_part

    def add_to_tensor(self, mat, name="add_to_tensor"):
        return self.to_dense() + self._argument(mat)

    def _adjoint(self):
        return LinearOperatorZeros(self._columns, self._rows, self._batch, self.dtype, is_square=self.is_square, is_self_adjoint=self.is_self_adjoint)

    def assert_non_singular(self, name="assert_non_singular"):
        from tandem.framework.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def assert_positive_definite(self, name="assert_positive_definite"):
        from tandem.framework.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, "Zero operators are always non-positive definite.")


class LinearOperatorFullMatrix(LinearOperator):
    """Any matrix."""

    _fields = ("matrix",)

    def __init__(self, matrix, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorFullMatrix"):  # fmt: skip
        given = dict(locals())
        self._matrix = parts.tensor_of(matrix)
        if (self._matrix.shape.rank or 2) < 2:
            raise ValueError(f"Argument `matrix` must have at least 2 dimensions. Found: {self._matrix}")
        super().__init__(self._matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name, given)

    matrix = property(lambda self: self._matrix)

    def _shape(self):
        return self._matrix.shape

    def _shape_tensor(self):
        return execute("Shape", convert_to_tensor(self._matrix))

    def _to_dense(self):
        return convert_to_tensor(self._matrix)


class LinearOperatorLowerTriangular(LinearOperator):
    """A matrix whose upper part is zero, whatever stands there."""

    _fields = ("tril",)

    def __init__(self, tril, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorLowerTriangular"):  # fmt: skip
        given = dict(locals())
        if is_square is False:
            raise ValueError(f"Only square lower triangular operators supported at this time. Found: {is_square}")
        self._tril = parts.tensor_of(tril)
        if (self._tril.shape.rank or 2) < 2:
            raise ValueError(f"Argument `tril` must have at least 2 dimensions. Found: {self._tril}")
        super().__init__(self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, given)

    tril = property(lambda self: self._tril)

    def _shape(self):
        return self._tril.shape

    def _shape_tensor(self):
        return execute("Shape", convert_to_tensor(self._tril))

    def _to_dense(self):
        return execute("MatrixBandPart", self._tril, num_lower=-1, num_upper=0)

    def _diag_part(self):
        return parts.diag_part(self._tril)

    def _solve(self, rhs, adjoint=False):
        return parts.triangular_solve(self._to_dense(), rhs, adjoint=adjoint)

    def _determinant(self):
        return execute("Prod", self._diag_part(), axis=[-1])

    def _log_abs_determinant(self):
        return execute("Sum", parts.log_abs(self._diag_part()), axis=[-1])

    def _eigvals(self):
        return self._diag_part()

    def assert_non_singular(self, name="assert_non_singular"):
        check.assert_none_equal(self._diag_part(), convert_to_tensor(0, self.dtype), message="Singular operator:  Diagonal contained zero values.")
