"""An operator and a change of low rank: L + U D Vᴴ, solved by the matrix inversion lemma."""

from tandem._core import convert_to_tensor, execute
from tandem.ops.linear import parts
from tandem.ops.linear.base import LinearOperator
from tandem.ops.linear.simple import LinearOperatorDiag, LinearOperatorIdentity


class LinearOperatorLowRankUpdate(LinearOperator):
    """base_operator + u · diag(diag_update) · vᴴ; v is u where it is not given, and the diagonal ones."""

    _fields = ("base_operator", "u", "diag_update", "v")

    def __init__(
        self, base_operator, u, diag_update=None, v=None, is_diag_update_positive=None, is_non_singular=None, is_self_adjoint=None,
        is_positive_definite=None, is_square=None, name="LinearOperatorLowRankUpdate",
    ):  # fmt: skip
        given = {k: x for k, x in locals().items() if k not in ("self", "__class__")}
        if diag_update is None:
            is_diag_update_positive = True
        self._base_operator, self._u = base_operator, parts.tensor_of(u)
        self._v = None if v is None else parts.tensor_of(v)
        self._diag_update = None if diag_update is None else parts.tensor_of(diag_update)
        self._positive = is_diag_update_positive
        real = v is None and (is_diag_update_positive or not self._u.dtype.is_complex)
        if real and base_operator.is_self_adjoint and is_self_adjoint is None:
            is_self_adjoint = True
        if v is None and is_diag_update_positive and base_operator.is_positive_definite:
            is_positive_definite = True
        super().__init__(base_operator.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name, given)

    base_operator = property(lambda self: self._base_operator)
    u = property(lambda self: self._u)
    v = property(lambda self: self._u if self._v is None else self._v)
    diag_update = property(lambda self: self._diag_update)
    is_diag_update_positive = property(lambda self: self._positive)

    @property
    def diag_operator(self):
        if self._diag_update is not None:
            return LinearOperatorDiag(self._diag_update, is_positive_definite=self._positive)
        rank = execute("Shape", convert_to_tensor(self._u))[-1]
        return LinearOperatorIdentity(self._u.shape[-1] if self._u.shape[-1] is not None else rank, dtype=self.dtype)

    def _shape(self):
        from tandem.ops.array import broadcast_static_shape

        base = self._base_operator.shape
        batch = broadcast_static_shape(base[:-2], self._u.shape[:-2])
        if self._v is not None:
            batch = broadcast_static_shape(batch, self._v.shape[:-2])
        return batch.concatenate(base[-2:])

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = parts.adjoint(x) if adjoint_arg else x
        u, v = convert_to_tensor(self.u), convert_to_tensor(self.v)
        if adjoint:
            u, v = v, u
        inner = self.diag_operator.matmul(parts.matmul(v, x, adjoint_a=True), adjoint=adjoint)
        return self._base_operator.matmul(x, adjoint=adjoint) + parts.matmul(u, inner)

    def _capacitance(self, adjoint=False):
        u, v = convert_to_tensor(self.u), convert_to_tensor(self.v)
        if adjoint:
            u, v = v, u
        product = parts.matmul(v, self._base_operator.solve(u, adjoint=adjoint), adjoint_a=True)
        if self._diag_update is None:
            return product + parts.eye(execute("Shape", product)[-1], [], self.dtype)
        diag = execute("Reciprocal", self._diag_update)
        return product + parts.diag(parts.conj(diag) if adjoint else diag)

    def _solve(self, rhs, adjoint=False):
        u, v = convert_to_tensor(self.u), convert_to_tensor(self.v)
        if adjoint:
            u, v = v, u
        base = self._base_operator.solve(rhs, adjoint=adjoint)
        inner = parts.solve(self._capacitance(adjoint), parts.matmul(v, base, adjoint_a=True))
        return base - self._base_operator.solve(parts.matmul(u, inner), adjoint=adjoint)

    def _determinant(self):
        found = execute("MatrixDeterminant", self._capacitance()) * self._base_operator.determinant()
        return found if self._diag_update is None else found * self.diag_operator.determinant()

    def _log_abs_determinant(self):
        log = execute("LogMatrixDeterminant", self._capacitance())[1]
        log = execute("Real", log) if log.dtype.is_complex else log
        found = log + self._base_operator.log_abs_determinant()
        return found if self._diag_update is None else found + self.diag_operator.log_abs_determinant()

    def _diag_part(self):
        u, v = convert_to_tensor(self.u), convert_to_tensor(self.v)
        product = u * parts.conj(v)
        if self._diag_update is not None:
            product = product * convert_to_tensor(self._diag_update)[..., None, :]
        return self._base_operator.diag_part() + execute("Sum", product, axis=[-1])

    def _trace(self):
        return execute("Sum", self._diag_part(), axis=[-1])

    def _to_dense(self):
        u, v = convert_to_tensor(self.u), convert_to_tensor(self.v)
        u = u if self._diag_update is None else u * convert_to_tensor(self._diag_update)[..., None, :]
        return self._base_operator.to_dense() + parts.matmul(u, v, adjoint_b=True)
