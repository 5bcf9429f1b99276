"""Products and solutions of two operators: of the simplest form that they have."""

from tandem._core import convert_to_tensor, execute
from tandem.ops.linear.circulant import LinearOperatorCirculant
from tandem.ops.linear.combined import LinearOperatorComposition
from tandem.ops.linear.simple import (
    LinearOperatorDiag, LinearOperatorIdentity, LinearOperatorLowerTriangular, LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)  # fmt: skip


def product(a, b):
    """The operator that does b, then a."""
    a.shape[-1:].assert_is_compatible_with(b.shape[-2:-1])
    if isinstance(a, LinearOperatorIdentity):
        return b
    if isinstance(b, LinearOperatorIdentity):
        return a
    if isinstance(a, LinearOperatorZeros) or isinstance(b, LinearOperatorZeros):
        return a if isinstance(a, LinearOperatorZeros) else b
    found = _scaled(a, b) or _scaled(b, a)
    if found is not None:
        return found
    if isinstance(a, LinearOperatorDiag) and isinstance(b, LinearOperatorDiag):
        return LinearOperatorDiag(convert_to_tensor(a.diag) * b.diag, **_both(a, b))
    if isinstance(a, LinearOperatorDiag) and isinstance(b, LinearOperatorLowerTriangular):
        return LinearOperatorLowerTriangular(convert_to_tensor(a.diag)[..., None] * b.to_dense(), is_non_singular=_all(a, b), is_square=True)
    if isinstance(a, LinearOperatorLowerTriangular) and isinstance(b, LinearOperatorDiag):
        return LinearOperatorLowerTriangular(a.to_dense() * convert_to_tensor(b.diag)[..., None, :], is_non_singular=_all(a, b), is_square=True)
    if isinstance(a, LinearOperatorCirculant) and isinstance(b, LinearOperatorCirculant):
        return LinearOperatorCirculant(convert_to_tensor(a.spectrum) * b.spectrum, a.dtype, is_non_singular=_all(a, b), is_square=True)
    return LinearOperatorComposition([a, b], is_non_singular=_all(a, b), is_square=_square(a, b))


def _scaled(number, other):
    """Of a multiple of the identity and a diagonal or another multiple."""
    if not isinstance(number, LinearOperatorScaledIdentity):
        return None
    factor = convert_to_tensor(number.multiplier)
    if isinstance(other, LinearOperatorScaledIdentity):
        return LinearOperatorScaledIdentity(number._rows, factor * other.multiplier, **_both(number, other))
    if isinstance(other, LinearOperatorDiag):
        return LinearOperatorDiag(factor[..., None] * other.diag, **_both(number, other))
    return None


def solution(a, b):
    """The operator that does b, then what undoes a."""
    if isinstance(a, LinearOperatorIdentity):
        return b
    if isinstance(b, LinearOperatorIdentity):
        return a.inverse()
    if isinstance(a, LinearOperatorDiag) and isinstance(b, LinearOperatorDiag):
        return LinearOperatorDiag(execute("RealDiv", b.diag, a.diag), **_both(a, b))
    return product(a.inverse(), b)


def _all(a, b):
    return True if a.is_non_singular and b.is_non_singular else None


def _square(a, b):
    return True if a.is_square and b.is_square else None


def _both(a, b):
    adjoint = True if a.is_self_adjoint and b.is_self_adjoint else None
    positive = True if a.is_positive_definite and b.is_positive_definite else None
    return {"is_non_singular": _all(a, b), "is_self_adjoint": adjoint, "is_positive_definite": positive}
