"""What all linear operators use: batches of matrices broadcast against one another, and their products and solutions."""

from tandem import _core
from tandem._core import VariableBase, convert_to_tensor, execute
from tandem.framework.shape import TensorShape


def tensor_of(value, dtype=None):
    """A tensor, or a variable, which stays one so that operators see what is assigned to it."""
    return value if isinstance(value, VariableBase) else convert_to_tensor(value, dtype)


def adjoint(x):
    """The last two axes about, conjugated."""
    order = list(range(x.shape.rank))
    order[-1], order[-2] = order[-2], order[-1]
    return execute("Transpose", x, perm=order, conjugate=x.dtype.is_complex)


def conj(x):
    x = convert_to_tensor(x)
    return execute("Conj", x) if x.dtype.is_complex else x


def shape_of(x):
    """The sizes: numbers where all are known."""
    return x.shape.as_list() if x.shape.is_fully_defined() else execute("Shape", x)


def joined_shape(*parts):
    """Sizes one after the other; each part is a list of numbers, a TensorShape or a tensor."""
    if all(not isinstance(p, _core.Tensor) for p in parts):
        return convert_to_tensor([int(s) for p in parts for s in (p.as_list() if isinstance(p, TensorShape) else p)], "int32")
    return execute("ConcatV2", [convert_to_tensor(list(p) if not isinstance(p, _core.Tensor) else p, "int32") for p in parts], axis=0)


def common_batch(*shapes):
    """The shape of several batches together, as a tensor."""
    found = shapes[0]
    for shape in shapes[1:]:
        found = execute("BroadcastArgs", found, shape)
    return found


def broadcast_batches(*matrices, last=2):
    """Matrices whose batch shapes are one; those that have none are left alone where no one has."""
    if all(m.shape.rank == last for m in matrices):
        return list(matrices)
    outer = [m.shape[:-last] for m in matrices]
    if all(s.is_fully_defined() and s == outer[0] for s in outer):
        return list(matrices)
    shapes = [execute("Shape", m) for m in matrices]
    batch = common_batch(*(s[:-last] for s in shapes))
    return [execute("BroadcastTo", m, execute("ConcatV2", [batch, s[-last:]], axis=0)) for m, s in zip(matrices, shapes)]


def matmul(a, b, adjoint_a=False, adjoint_b=False):
    return execute("MatMul", a, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


def solve(matrix, rhs, adjoint=False):
    return execute("MatrixSolve", *broadcast_batches(matrix, rhs), adjoint=adjoint)


def triangular_solve(matrix, rhs, lower=True, adjoint=False):
    return execute("MatrixTriangularSolve", *broadcast_batches(matrix, rhs), lower=lower, adjoint=adjoint)


def cholesky_solve(factor, rhs):
    return triangular_solve(factor, triangular_solve(factor, rhs), adjoint=True)


def diag_part(x):
    return execute("MatrixDiagPartV3", x)


def diag(x):
    return execute("MatrixDiagV3", x)


def log_abs(x):
    return execute("Log", execute("ComplexAbs" if x.dtype.is_complex else "Abs", x))


def eye(size, batch_shape, dtype):
    """Identity matrices; `batch_shape` is a list, a TensorShape or a tensor."""
    size = convert_to_tensor(size, "int32")
    ones = execute("Fill", joined_shape(batch_shape, execute("Reshape", size, [1])), convert_to_tensor(1, dtype))
    return execute("MatrixDiagV3", ones)
