"""tf.linalg.experimental: systems solved step by step."""

import collections

from tandem._core import convert_to_tensor, execute
from tandem.ops.control_flow import while_loop

CGState = collections.namedtuple("CGState", ["i", "x", "r", "p", "gamma"])


def conjugate_gradient(operator, rhs, preconditioner=None, x=None, tol=1e-5, max_iter=20, name="conjugate_gradient"):
    """Solves for a positive definite operator; gives the state in which the residuals are small or the steps used up."""
    if not hasattr(operator, "is_self_adjoint"):
        raise TypeError(f"conjugate_gradient takes a linear operator, got {operator!r}.")
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError("Expected a self-adjoint, positive definite operator.")
    rhs = convert_to_tensor(rhs, operator.dtype)
    conj = lambda v: execute("Conj", v) if v.dtype.is_complex else v  # noqa: E731
    dot = lambda a, b: execute("Sum", conj(a) * b, axis=[-1])  # noqa: E731
    size = lambda v: execute("Sqrt", execute("Abs", execute("Real", dot(v, v)) if v.dtype.is_complex else dot(v, v)))  # noqa: E731
    if x is None:
        x = execute("ZerosLike", rhs)
        r = rhs
    else:
        x = convert_to_tensor(x, operator.dtype)
        r = rhs - operator.matvec(x)
    p = r if preconditioner is None else preconditioner.matvec(r)
    gamma, limit = dot(r, p), tol * size(rhs)

    def step(i, x, r, p, gamma):
        z = operator.matvec(p)
        alpha = gamma / dot(p, z)
        x, r = x + alpha[..., None] * p, r - alpha[..., None] * z
        q = r if preconditioner is None else preconditioner.matvec(r)
        new = dot(r, q)
        return i + 1, x, r, q + (new / gamma)[..., None] * p, new

    def going(i, x, r, p, gamma):
        return execute("LogicalAnd", execute("Less", i, max_iter), execute("Any", execute("Greater", size(r), limit)))

    return CGState(*while_loop(going, step, [convert_to_tensor(0), x, r, p, gamma]))
