"""tf.linalg.LinearOperator: what every operator can do, by its matrix where it knows nothing better."""

from tandem import _core
from tandem._core import VariableBase, as_dtype, convert_to_tensor, execute
from tandem.framework.dimension import Dimension
from tandem.framework.module import Module
from tandem.framework.shape import TensorShape
from tandem.framework.spec import TypeSpec
from tandem.framework.types import CompositeTensor
from tandem.ops import check
from tandem.ops.linear import parts

_HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")


class LinearOperator(Module, CompositeTensor):
    """Batches of matrices. A subclass names in `_fields` the attributes that hold tensors and operators, and defines
    `_shape`, `_matmul` and what it does better than by `to_dense`."""

    _fields = ()

    def __init__(
        self, dtype, graph_parents=None, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
        is_square=None, name=None, parameters=None,
    ):  # fmt: skip
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular matrix is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            is_square = True
        self._hints = dict(zip(_HINTS, (is_non_singular, is_self_adjoint, is_positive_definite, is_square)))
        self._dtype = None if dtype is None else as_dtype(dtype).base_dtype
        self._parameters = dict(parameters or {})
        self._parameters.pop("self", None)
        self._parameters.pop("__class__", None)
        super().__init__(name=name or type(self).__name__)

    parameters = property(lambda self: dict(self._parameters))
    dtype = property(lambda self: self._dtype)
    graph_parents = property(lambda self: [])
    is_non_singular = property(lambda self: self._hints["is_non_singular"])
    is_self_adjoint = property(lambda self: self._hints["is_self_adjoint"])
    is_positive_definite = property(lambda self: self._hints["is_positive_definite"])
    H = property(lambda self: self.adjoint())

    @property
    def is_square(self):
        known = self._known_square()
        hint = self._hints["is_square"]
        if known is not None and hint is not None and hint != known:
            raise ValueError(f"User provided hint is_square={hint}, but the shape {self.shape} says {known}.")
        return hint if known is None else known

    def _known_square(self):
        shape = self.shape
        if shape.rank is None or None in shape.as_list()[-2:]:
            return None
        return shape[-1] == shape[-2]

    # ---- Shapes

    shape = property(lambda self: self._shape())
    batch_shape = property(lambda self: self.shape[:-2])
    tensor_rank = property(lambda self: self.shape.rank)
    domain_dimension = property(lambda self: Dimension(_size(self.shape, -1)))
    range_dimension = property(lambda self: Dimension(_size(self.shape, -2)))

    def _shape_tensor(self):
        return execute("Shape", self.to_dense())

    def shape_tensor(self, name="shape_tensor"):
        """The shape as a tensor."""
        known = self.shape
        return convert_to_tensor(known.as_list(), "int32") if known.is_fully_defined() else self._shape_tensor()

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name="tensor_rank_tensor"):
        return execute("Size", self.shape_tensor())

    def domain_dimension_tensor(self, name="domain_dimension_tensor"):
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name="range_dimension_tensor"):
        return self.shape_tensor()[-2]

    # ---- Checks

    def assert_non_singular(self, name="assert_non_singular"):
        """Raises where the largest singular value is too much larger than the smallest."""
        limit = 1 / {4: 1.1920929e-07, 8: 2.220446049250313e-16}.get(parts_size(self.dtype), 1e-3)
        check.assert_less(self.cond(), convert_to_tensor(limit, real_dtype(self.dtype)), message="Singular matrix up to precision epsilon.")

    def assert_self_adjoint(self, name="assert_self_adjoint"):
        dense = self.to_dense()
        check.assert_equal(dense, parts.adjoint(dense), message="Matrix was not equal to its adjoint.")

    def assert_positive_definite(self, name="assert_positive_definite"):
        check.assert_positive(_real(parts.diag_part(execute("Cholesky", self.to_dense()))), message="Matrix was not positive definite.")

    # ---- Products and solutions

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """The product with a matrix, or with another operator."""
        if isinstance(x, LinearOperator):
            from tandem.ops.linear import algebra

            left = self.adjoint() if adjoint else self
            return algebra.product(left, x.adjoint() if adjoint_arg else x)
        x = self._argument(x)
        _match(self.shape[-2 if adjoint else -1 :][:1], x.shape[-1 if adjoint_arg else -2 :][:1])
        return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _argument(self, x):
        x = convert_to_tensor(x, None if isinstance(x, (_core.Tensor, VariableBase)) else self.dtype)
        if self.dtype is not None and x.dtype != self.dtype:
            raise TypeError(f"Input matrix dtype {x.dtype.name} does not match dtype of the linear operator {self.dtype.name}.")
        return x

    def __matmul__(self, other):
        return self.matmul(other)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return parts.matmul(self.to_dense(), x, adjoint, adjoint_arg)

    def matvec(self, x, adjoint=False, name="matvec"):
        """The product with a vector."""
        x = self._argument(x)
        _match(self.shape[-2 if adjoint else -1 :][:1], x.shape[-1:])
        return execute("Squeeze", self._matmul(x[..., None], adjoint=adjoint), axis=-1)

    def _can_use_cholesky(self):
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _require_regular(self):
        if self.is_non_singular is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        if self.is_square is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to not be square.")

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        """What the operator makes the right-hand side of."""
        self._require_regular()
        if isinstance(rhs, LinearOperator):
            from tandem.ops.linear import algebra

            left = self.adjoint() if adjoint else self
            return algebra.solution(left, rhs.adjoint() if adjoint_arg else rhs)
        rhs = self._argument(rhs)
        _match(self.shape[-1 if adjoint else -2 :][:1], rhs.shape[-1 if adjoint_arg else -2 :][:1])
        return self._solve(parts.adjoint(rhs) if adjoint_arg else rhs, adjoint=adjoint)

    def _solve(self, rhs, adjoint=False):
        if self._can_use_cholesky():
            return parts.cholesky_solve(execute("Cholesky", self.to_dense()), rhs)
        return parts.solve(self.to_dense(), rhs, adjoint)

    def solvevec(self, rhs, adjoint=False, name="solve"):
        """What the operator makes the vector of."""
        self._require_regular()
        rhs = self._argument(rhs)
        _match(self.shape[-1 if adjoint else -2 :][:1], rhs.shape[-1:])
        return execute("Squeeze", self._solve(rhs[..., None], adjoint=adjoint), axis=-1)

    # ---- Numbers of matrices

    def _require_square(self, what):
        if self.is_square is False:
            raise NotImplementedError(f"{what} not implemented for an operator that is expected to not be square.")

    def determinant(self, name="det"):
        self._require_square("Determinant")
        return self._determinant()

    def _determinant(self):
        if self._can_use_cholesky():
            return execute("Exp", self._log_abs_determinant())
        return execute("MatrixDeterminant", self.to_dense())

    def log_abs_determinant(self, name="log_abs_det"):
        self._require_square("Determinant")
        return self._log_abs_determinant()

    def _log_abs_determinant(self):
        if self._can_use_cholesky():
            found = parts.diag_part(execute("Cholesky", self.to_dense()))
            return 2 * execute("Sum", parts.log_abs(found), axis=[-1])
        return _real(execute("LogMatrixDeterminant", self.to_dense())[1])

    def to_dense(self, name="to_dense"):
        """The matrix."""
        return self._to_dense()

    def _to_dense(self):
        size = self.domain_dimension_tensor()
        return self._matmul(parts.eye(size, self.batch_shape_tensor(), self.dtype))

    def diag_part(self, name="diag_part"):
        return self._diag_part()

    def _diag_part(self):
        return parts.diag_part(self.to_dense())

    def trace(self, name="trace"):
        return self._trace()

    def _trace(self):
        return execute("Sum", self.diag_part(), axis=[-1])

    def add_to_tensor(self, x, name="add_to_tensor"):
        return self._add_to_tensor(self._argument(x))

    def _add_to_tensor(self, x):
        return self.to_dense() + x

    def eigvals(self, name="eigvals"):
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        return self._eigvals()

    def _eigvals(self):
        return execute("SelfAdjointEigV2", self.to_dense(), compute_v=False)[0]

    def cond(self, name="cond"):
        """The largest singular value over the smallest."""
        if not self.is_self_adjoint:
            values = execute("Svd", self.to_dense(), compute_uv=False)[0]
            return values[..., 0] / values[..., -1]
        values = execute("Abs", _real(self.eigvals()))
        return execute("Max", values, axis=[-1]) / execute("Min", values, axis=[-1])

    # ---- Other operators

    def adjoint(self, name="adjoint"):
        return self if self.is_self_adjoint else self._adjoint()

    def _adjoint(self):
        from tandem.ops.linear.combined import LinearOperatorAdjoint

        return LinearOperatorAdjoint(self, is_non_singular=self.is_non_singular, is_self_adjoint=self.is_self_adjoint,
                                     is_positive_definite=self.is_positive_definite, is_square=self.is_square)  # fmt: skip

    def inverse(self, name="inverse"):
        if self.is_square is False:
            raise ValueError("Cannot take the Inverse: This operator represents a non square matrix.")
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        return self._inverse()

    def _inverse(self):
        from tandem.ops.linear.combined import LinearOperatorInversion

        return LinearOperatorInversion(self, is_non_singular=self.is_non_singular, is_self_adjoint=self.is_self_adjoint,
                                       is_positive_definite=self.is_positive_definite, is_square=self.is_square)  # fmt: skip

    def cholesky(self, name="cholesky"):
        if not self._can_use_cholesky():
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        return self._cholesky()

    def _cholesky(self):
        from tandem.ops.linear.simple import LinearOperatorLowerTriangular

        return LinearOperatorLowerTriangular(execute("Cholesky", self.to_dense()), is_non_singular=True, is_square=True)

    # ---- As an argument of functions and of tf.linalg's

    def _tf_components(self):
        found = []
        for field in self._fields:
            value = getattr(self, "_" + field)
            found.extend(value if isinstance(value, (list, tuple)) else [] if value is None else [value])
        return found

    def _tf_rebuild(self, components):
        """One like this with other tensors, which may be placeholders that nothing can be asked of."""
        made, rest = object.__new__(type(self)), list(components)
        made.__dict__.update(self.__dict__)
        for field in self._fields:
            value = getattr(self, "_" + field)
            if isinstance(value, (list, tuple)):
                made.__dict__["_" + field], rest = rest[: len(value)], rest[len(value) :]
            elif value is not None:
                made.__dict__["_" + field], rest = rest[0], rest[1:]
        return made

    def _tf_key(self):
        static = {k: v for k, v in self._parameters.items() if k not in self._fields}
        counts = [len(v) if isinstance(v := getattr(self, "_" + f), (list, tuple)) else v is not None for f in self._fields]
        return repr((sorted((k, repr(v)) for k, v in static.items()), counts))

    @property
    def _type_spec(self):
        return LinearOperatorSpec(self)

    def __tf_dispatch__(self, op, inputs, attrs):
        """The functions of tf.linalg that take an operator for a matrix."""
        own = inputs[0] is self
        if op == "MatMul" and own and not attrs.get("transpose_a") and not attrs.get("transpose_b"):
            return self.matmul(inputs[1], bool(attrs.get("adjoint_a")), bool(attrs.get("adjoint_b")))
        if op == "MatrixSolve" and own:
            return self.solve(inputs[1], adjoint=bool(attrs.get("adjoint")))
        known = {"MatrixDeterminant": self.determinant, "MatrixInverse": self.inverse, "Cholesky": self.cholesky,
                 "MatrixDiagPartV3": self.diag_part}  # fmt: skip
        if own and op in known:
            return known[op]()
        if own and op == "SelfAdjointEigV2" and not attrs.get("compute_v", True):
            return (self.eigvals(),)
        raise ValueError(f"{op} takes no {type(self).__name__}: turn it into a matrix with to_dense().")

    def __repr__(self):
        return f"<tf.linalg.{type(self).__name__} {self.name!r} shape={self.shape} dtype={self.dtype.name}>"


class LinearOperatorSpec(TypeSpec):
    """The kind of an operator, and what its tensors are."""

    def __init__(self, operator):
        self._operator = operator
        self._kind, self._static = type(operator), operator._tf_key()
        self._shape = operator.shape

    value_type = property(lambda self: self._kind)
    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._operator.dtype)

    def __eq__(self, other):
        return isinstance(other, LinearOperatorSpec) and self._parts() == other._parts()

    def _parts(self):
        return self._kind, self._static, str(self._shape)

    def __hash__(self):
        return hash((self._kind, self._static))

    def is_compatible_with(self, value):
        return isinstance(value, self._kind) and value._tf_key() == self._static or self == value

    def _tf_components(self):
        from tandem.framework.spec import type_spec_from_value

        return [type_spec_from_value(c) for c in self._operator._tf_components()]

    def _tf_key(self):
        return self._static

    def _tf_rebuild(self, components):
        return self._operator._tf_rebuild(components)


def _size(shape, axis):
    return None if shape.rank is None else shape[axis]


def _match(own, given):
    if not own.is_compatible_with(given):
        raise ValueError(f"Dimensions {own} and {given} are not compatible")


def real_dtype(dtype):
    return {"complex64": as_dtype("float32"), "complex128": as_dtype("float64")}.get(dtype.name, dtype)


def parts_size(dtype):
    return real_dtype(dtype).size


def _real(x):
    return execute("Real", x) if x.dtype.is_complex else x


def shape_with(batch, rows, columns):
    return TensorShape(batch).concatenate([rows, columns])
