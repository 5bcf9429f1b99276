"""Operators of operators: adjoints, inverses, products, Kronecker products."""

import functools

from tandem._core import execute
from tandem.ops.array import broadcast_static_shape
from tandem.ops.linear import parts
from tandem.ops.linear.base import LinearOperator, shape_with


class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of another."""

    _fields = ("operator",)

    def __init__(self, operator, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name=None):
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self._operator = operator
        hints = _kept_hints(operator, is_non_singular, is_self_adjoint, is_positive_definite, is_square, "adjoint")
        super().__init__(operator.dtype, None, *hints, name or operator.name + "_adjoint", given)

    operator = property(lambda self: self._operator)

    def _shape(self):
        shape = self._operator.shape
        return shape_with(shape[:-2], shape[-1], shape[-2])

    def _shape_tensor(self):
        sizes = self._operator.shape_tensor()
        return execute("ConcatV2", [sizes[:-2], sizes[-1:], sizes[-2:-1]], axis=0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False):
        return self._operator.solve(rhs, adjoint=not adjoint)

    def _to_dense(self):
        return parts.adjoint(self._operator.to_dense())

    def _diag_part(self):
        return parts.conj(self._operator.diag_part())

    def _determinant(self):
        return parts.conj(self._operator.determinant())

    def _log_abs_determinant(self):
        return self._operator.log_abs_determinant()

    def _adjoint(self):
        return self._operator


class LinearOperatorInversion(LinearOperator):
    """The inverse of another."""

    _fields = ("operator",)

    def __init__(self, operator, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name=None):
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self._operator = operator
        if operator.is_square is False or is_square is False:
            raise ValueError(f"Inverse operators are always square. Found: {operator}")
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError("Operator and is_non_singular must both be True: an inverse is of a regular matrix.")
        hints = _kept_hints(operator, is_non_singular, is_self_adjoint, is_positive_definite, is_square, "inverse")
        super().__init__(operator.dtype, None, *hints, name or operator.name + "_inv", given)

    operator = property(lambda self: self._operator)

    def _shape(self):
        return self._operator.shape

    def _shape_tensor(self):
        return self._operator.shape_tensor()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False):
        return self._operator.matmul(rhs, adjoint=adjoint)

    def _determinant(self):
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self):
        return execute("Neg", self._operator.log_abs_determinant())

    def _inverse(self):
        return self._operator


def _kept_hints(operator, non_singular, self_adjoint, positive, square, what):
    found = []
    given = ("is_non_singular", non_singular), ("is_self_adjoint", self_adjoint), ("is_positive_definite", positive), ("is_square", square)
    for name, value in given:
        known = getattr(operator, name)
        if value is not None and known is not None and value != known:
            raise ValueError(f"The operator has {name}={known}, its {what} cannot have {name}={value}.")
        found.append(known if value is None else value)
    return found


class _Several(LinearOperator):
    """Of a list of operators."""

    _fields = ("operators",)
    operators = property(lambda self: self._operators)

    def _check(self, operators, what):
        if not operators:
            raise ValueError(f"Argument `operators` must be a list of >=1 operators. Found: {operators}")
        self._operators = list(operators)
        if len({o.dtype for o in self._operators}) > 1:
            raise TypeError(f"Expected all operators to have the same dtype. Found {[(o.name, o.dtype.name) for o in operators]}")
        return self._operators[0].dtype, what.join(o.name for o in self._operators)

    def _static_batch(self):
        return functools.reduce(broadcast_static_shape, (o.batch_shape for o in self._operators))

    def _batch_tensor(self):
        return parts.common_batch(*(o.batch_shape_tensor() for o in self._operators))

    def _all(self, hint, given):
        """True where it holds for every operator and nobody says otherwise."""
        values = [getattr(o, hint) for o in self._operators]
        return True if all(values) else given


class LinearOperatorComposition(_Several):
    """The product of operators."""

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name=None):
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        dtype, joined = self._check(operators, "_o_")
        for left, right in zip(self._operators, self._operators[1:]):
            left.shape[-1:].assert_is_compatible_with(right.shape[-2:-1])
        if all(o.is_non_singular for o in self._operators):
            if is_non_singular is False:
                raise ValueError("The composition of non-singular operators is always non-singular.")
            is_non_singular = True
        super().__init__(dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name or joined, given)

    def _shape(self):
        return shape_with(self._static_batch(), self._operators[0].range_dimension, self._operators[-1].domain_dimension)

    def _shape_tensor(self):
        ends = self._operators[0].shape_tensor()[-2:-1], self._operators[-1].shape_tensor()[-1:]
        return execute("ConcatV2", [self._batch_tensor(), *ends], axis=0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        order = self._operators if adjoint else self._operators[::-1]
        x = order[0].matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in order[1:]:
            x = operator.matmul(x, adjoint=adjoint)
        return x

    def _solve(self, rhs, adjoint=False):
        for operator in self._operators[::-1] if adjoint else self._operators:
            rhs = operator.solve(rhs, adjoint=adjoint)
        return rhs

    def _determinant(self):
        return functools.reduce(lambda a, b: a * b, (o.determinant() for o in self._operators))

    def _log_abs_determinant(self):
        return functools.reduce(lambda a, b: a + b, (o.log_abs_determinant() for o in self._operators))


class LinearOperatorKronecker(_Several):
    """Every element of one operator times all of the next."""

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None, name=None):
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        dtype, joined = self._check(operators, "_x_")
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        names = "is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square"
        super().__init__(dtype, None, *(self._all(n, h) for n, h in zip(names, hints)), name or joined, given)

    def _shape(self):
        rows, columns = ([getattr(o, side) for o in self._operators] for side in ("range_dimension", "domain_dimension"))
        product = lambda sizes: functools.reduce(lambda a, b: a * b, sizes)  # noqa: E731
        return shape_with(self._static_batch(), product(rows), product(columns))

    def _shape_tensor(self):
        sizes = execute("Pack", [o.shape_tensor()[-2:] for o in self._operators], axis=0)
        return execute("ConcatV2", [self._batch_tensor(), execute("Prod", sizes, axis=[0])], axis=0)

    def _each(self, x, apply, side):
        """One operator after the other on its own part of the rows; those of its side before it are long done."""
        columns = execute("Shape", x)[-1:]
        for k in range(len(self._operators)):
            operator = self._operators[k]
            width = operator.shape_tensor()[side][None]
            batch = execute("Shape", x)[:-2]
            rest = execute("FloorDiv", execute("Prod", execute("Shape", x)[-2:], axis=[0], keepdims=True), width)
            x = apply(operator, execute("Reshape", x, execute("ConcatV2", [batch, width, rest], axis=0)))
            x = _turned(x)  # what is done goes behind the others: after all of them the columns stand in front
            batch = execute("Shape", x)[:-2]
            flat = execute("Prod", execute("Shape", x)[-2:], axis=[0], keepdims=True)
            x = execute("Reshape", x, execute("ConcatV2", [batch, flat, [1]], axis=0))
        batch = execute("Shape", x)[:-2]
        found = execute("Reshape", x, execute("ConcatV2", [batch, columns, [-1]], axis=0))
        return _turned(found)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = parts.adjoint(x) if adjoint_arg else x
        return self._each(x, lambda operator, part: operator.matmul(part, adjoint=adjoint), -2 if adjoint else -1)

    def _solve(self, rhs, adjoint=False):
        return self._each(rhs, lambda operator, part: operator.solve(part, adjoint=adjoint), -1 if adjoint else -2)

    def _powers(self):
        """How often each operator counts in the determinant."""
        total = self.domain_dimension_tensor()
        return [execute("Cast", total // o.domain_dimension_tensor(), dtype=self.dtype) for o in self._operators]

    def _determinant(self):
        found = (execute("Pow", o.determinant(), p) for o, p in zip(self._operators, self._powers()))
        return functools.reduce(lambda a, b: a * b, found)

    def _log_abs_determinant(self):
        logs = [o.log_abs_determinant() for o in self._operators]
        return functools.reduce(lambda a, b: a + b, (v * execute("Cast", p, dtype=v.dtype) for v, p in zip(logs, self._powers())))

    def _trace(self):
        return functools.reduce(lambda a, b: a * b, (o.trace() for o in self._operators))

    def _of_vectors(self, vectors):
        def both(a, b):
            product = a[..., :, None] * b[..., None, :]
            sizes = execute("Shape", product)
            flat = execute("ConcatV2", [sizes[:-2], execute("Prod", sizes[-2:], axis=[0], keepdims=True)], axis=0)
            return execute("Reshape", product, flat)

        return functools.reduce(both, vectors)

    def _diag_part(self):
        return self._of_vectors(o.diag_part() for o in self._operators)

    def _eigvals(self):
        return self._of_vectors(o.eigvals() for o in self._operators)

    def _with(self, operators):
        return LinearOperatorKronecker(operators, self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, self.is_square)

    def _adjoint(self):
        return self._with([o.adjoint() for o in self._operators])

    def _inverse(self):
        return self._with([o.inverse() for o in self._operators])

    def _cholesky(self):
        return LinearOperatorKronecker([o.cholesky() for o in self._operators], is_non_singular=True, is_square=True)


def _turned(x):
    return execute("Transpose", x, perm=[*range(x.shape.rank - 2), x.shape.rank - 1, x.shape.rank - 2])
