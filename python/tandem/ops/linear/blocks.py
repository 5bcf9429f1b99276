"""Operators made of blocks: on the diagonal, or on and below it. Arguments may be lists of blocks, too."""

import functools

from tandem._core import convert_to_tensor, execute
from tandem.ops.array import broadcast_static_shape
from tandem.ops.linear import parts
from tandem.ops.linear.base import LinearOperator, shape_with
from tandem.ops.linear.combined import _Several


class _Blocks:
    """What both kinds share: arguments in blocks, and results as they were given."""

    def _given_blocks(self, x, adjoint, adjoint_arg=False):
        """The blocks of an argument, and whether it came as blocks."""
        sides = self._sides(-2 if adjoint else -1)
        if isinstance(x, (list, tuple)):
            if len(x) != len(sides):
                raise ValueError(f"Expected {len(sides)} blocks, got {len(x)}.")
            blocks = [self._argument(b) for b in x]
            return [parts.adjoint(b) if adjoint_arg else b for b in blocks], True
        x = parts.adjoint(x) if adjoint_arg else x
        return _cut(x, sides, -2), False

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """The product with a matrix, a list of blocks of its rows, or an operator."""
        if isinstance(x, LinearOperator) or not self._is_blocks(x, adjoint_arg):
            return super().matmul(x, adjoint, adjoint_arg)
        blocks, _ = self._given_blocks(x, adjoint, adjoint_arg)
        return self._block_matmul(blocks, adjoint)

    def _is_blocks(self, x, adjoint_arg=False):
        return isinstance(x, (list, tuple)) and len(x) > 0 and hasattr(x[0], "dtype") and getattr(x[0], "ndim", 0) >= 2

    def matvec(self, x, adjoint=False, name="matvec"):
        if not (isinstance(x, (list, tuple)) and len(x) and hasattr(x[0], "dtype")):
            return super().matvec(x, adjoint)
        found = self._block_matmul([self._argument(b)[..., None] for b in x], adjoint)
        return [execute("Squeeze", b, axis=-1) for b in found]

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        if isinstance(rhs, LinearOperator) or not self._is_blocks(rhs):
            return super().solve(rhs, adjoint, adjoint_arg)
        self._require_regular()
        blocks, _ = self._given_blocks(rhs, not adjoint, adjoint_arg)
        return self._block_solve(blocks, adjoint)

    def solvevec(self, rhs, adjoint=False, name="solve"):
        if not (isinstance(rhs, (list, tuple)) and len(rhs) and hasattr(rhs[0], "dtype")):
            return super().solvevec(rhs, adjoint)
        self._require_regular()
        found = self._block_solve([self._argument(b)[..., None] for b in rhs], adjoint)
        return [execute("Squeeze", b, axis=-1) for b in found]

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return _one(self._block_matmul(self._given_blocks(x, adjoint, adjoint_arg)[0], adjoint))

    def _solve(self, rhs, adjoint=False):
        return _one(self._block_solve(_cut(rhs, self._sides(-1 if adjoint else -2), -2), adjoint))


def _one(blocks):
    return execute("ConcatV2", parts.broadcast_batches(*blocks), axis=-2) if len(blocks) > 1 else blocks[0]


def _cut(x, sizes, axis):
    if len(sizes) == 1:
        return [x]
    return execute("SplitV", x, sizes=sizes, axis=axis)


class LinearOperatorBlockDiag(_Blocks, _Several):
    """Operators along the diagonal."""

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=True, name=None):
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        dtype, joined = self._check(operators, "_ds_")
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        names = "is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square"
        super().__init__(dtype, None, *(self._all(n, h) for n, h in zip(names, hints)), name or joined, given)

    def _known_square(self):
        return None if any(o.is_square is None for o in self._operators) else super()._known_square()

    def _sides(self, side):
        return [int(o.shape[side]) for o in self._operators]

    def _shape(self):
        total = lambda side: None if any(o.shape[side] is None for o in self._operators) else sum(o.shape[side] for o in self._operators)  # noqa: E731
        return shape_with(self._static_batch(), total(-2), total(-1))

    def _shape_tensor(self):
        sizes = execute("Pack", [o.shape_tensor()[-2:] for o in self._operators], axis=0)
        return execute("ConcatV2", [self._batch_tensor(), execute("Sum", sizes, axis=[0])], axis=0)

    def _block_matmul(self, blocks, adjoint):
        return [o.matmul(b, adjoint=adjoint) for o, b in zip(self._operators, blocks)]

    def _block_solve(self, blocks, adjoint):
        return [o.solve(b, adjoint=adjoint) for o, b in zip(self._operators, blocks)]

    def _determinant(self):
        return functools.reduce(lambda a, b: a * b, (o.determinant() for o in self._operators))

    def _log_abs_determinant(self):
        return functools.reduce(lambda a, b: a + b, (o.log_abs_determinant() for o in self._operators))

    def _trace(self):
        return functools.reduce(lambda a, b: a + b, (o.trace() for o in self._operators))

    def _vectors(self, vectors):
        return execute("ConcatV2", parts.broadcast_batches(*vectors, last=1), axis=-1) if len(vectors) > 1 else vectors[0]

    def _diag_part(self):
        if not all(o.is_square for o in self._operators):
            return super()._diag_part()
        return self._vectors([o.diag_part() for o in self._operators])

    def _eigvals(self):
        return self._vectors([o.eigvals() for o in self._operators])

    def _with(self, operators):
        return LinearOperatorBlockDiag(operators, self.is_non_singular, self.is_self_adjoint, self.is_positive_definite, self.is_square)

    def _adjoint(self):
        return self._with([o.adjoint() for o in self._operators])

    def _inverse(self):
        return self._with([o.inverse() for o in self._operators])

    def _cholesky(self):
        return LinearOperatorBlockDiag([o.cholesky() for o in self._operators], is_non_singular=True, is_square=True)


class LinearOperatorBlockLowerTriangular(_Blocks, LinearOperator):
    """Rows of operators on and below the diagonal."""

    _fields = ("operators",)

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorBlockLowerTriangular"):  # fmt: skip
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        if not operators or any(len(row) != i + 1 for i, row in enumerate(operators)):
            raise ValueError(f"Argument `operators` must be rows of 1, 2, 3 ... operators. Found: {operators}")
        self._operators = [o for row in operators for o in row]
        if len({o.dtype for o in self._operators}) > 1:
            raise TypeError("Expected all operators to have the same dtype.")
        diagonal = [row[-1] for row in self._rows]
        if any(o.is_square is False for o in diagonal):
            raise ValueError("The operators on the diagonal must be square.")
        if all(o.is_non_singular for o in diagonal):
            is_non_singular = True
        super().__init__(self._operators[0].dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, given)

    @property
    def _rows(self):
        rest, rows = list(self._operators), []
        while rest:
            size = len(rows) + 1
            rows.append(rest[:size])
            rest = rest[size:]
        return rows

    operators = property(lambda self: self._rows)

    def _diagonal(self):
        return [row[-1] for row in self._rows]

    def _sides(self, side):
        return [int(o.shape[side]) for o in self._diagonal()]

    def _shape(self):
        batch = functools.reduce(broadcast_static_shape, (o.batch_shape for o in self._operators))
        sides = [o.shape[-1] for o in self._diagonal()]
        size = None if None in sides else sum(sides)
        return shape_with(batch, size, size)

    def _block_matmul(self, blocks, adjoint):
        count, found = len(self._rows), []
        for i in range(count):
            terms = range(i, count) if adjoint else range(i + 1)
            of = (lambda j, i=i: self._rows[j][i]) if adjoint else (lambda j, i=i: self._rows[i][j])
            found.append(functools.reduce(lambda a, b: a + b, (of(j).matmul(blocks[j], adjoint=adjoint) for j in terms)))
        return found

    def _block_solve(self, blocks, adjoint):
        count = len(self._rows)
        found = [None] * count
        for i in reversed(range(count)) if adjoint else range(count):
            rest = blocks[i]
            for j in range(i + 1, count) if adjoint else range(i):
                operator = self._rows[j][i] if adjoint else self._rows[i][j]
                rest = rest - operator.matmul(found[j], adjoint=adjoint)
            found[i] = self._rows[i][i].solve(rest, adjoint=adjoint)
        return found

    def _determinant(self):
        return functools.reduce(lambda a, b: a * b, (o.determinant() for o in self._diagonal()))

    def _log_abs_determinant(self):
        return functools.reduce(lambda a, b: a + b, (o.log_abs_determinant() for o in self._diagonal()))

    def _to_dense(self):
        rows = []
        sides = self._sides(-1)
        for i, row in enumerate(self._rows):
            made = parts.broadcast_batches(*(o.to_dense() for o in row))
            right = sum(sides[i + 1 :])
            wide = execute("ConcatV2", made, axis=-1) if len(made) > 1 else made[0]
            rows.append(execute("Pad", wide, convert_to_tensor([[0, 0]] * (wide.shape.rank - 1) + [[0, right]])))
        return _one(rows)

    def _diag_part(self):
        vectors = parts.broadcast_batches(*(o.diag_part() for o in self._diagonal()), last=1)
        return execute("ConcatV2", vectors, axis=-1) if len(vectors) > 1 else vectors[0]

    def _trace(self):
        return functools.reduce(lambda a, b: a + b, (o.trace() for o in self._diagonal()))

    def _inverse(self):
        """Blocks below the diagonal: what stands in their row and column, between the inverses of the diagonal."""
        from tandem.ops.linear.simple import LinearOperatorFullMatrix

        rows = [[row[-1].inverse()] for row in self._rows]
        for i, row in enumerate(rows):
            for j in reversed(range(i)):
                terms = (self._rows[i][k].matmul(rows[k][j].to_dense()) for k in range(j, i))
                total = functools.reduce(lambda a, b: a + b, terms)
                row.insert(0, LinearOperatorFullMatrix(execute("Neg", self._rows[i][i].solve(total))))
            rows[i] = row
        return LinearOperatorBlockLowerTriangular(rows, is_non_singular=True)

    def _eigvals(self):
        vectors = parts.broadcast_batches(*(o.eigvals() for o in self._diagonal()), last=1)
        return execute("ConcatV2", vectors, axis=-1) if len(vectors) > 1 else vectors[0]
