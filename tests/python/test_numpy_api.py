"""tf.experimental.numpy against NumPy: values, shapes and dtypes."""

import numpy as np
import pytest

import tandem as tf

tnp = tf.experimental.numpy
A = np.arange(12, dtype=np.int64).reshape(3, 4) - 4
B = np.linspace(0.5, 2.0, 12).reshape(3, 4)
C = B.astype(np.float32)


@pytest.mark.parametrize(
    "expression",
    """add(A, B)|subtract(A, 2)|multiply(C, 2.5)|multiply(C, B)|true_divide(A, 3)|floor_divide(A, 3)|mod(A, 3)|power(B, 2)
maximum(A, C)|exp(A)|sqrt(C)|square(A)|negative(A)|log10(B)|isnan(B)|greater(A, 1)|logical_and(A, B)|clip(A, -1, 3)
where(A > 0, A, B)|sum(A)|sum(A, axis=0)|sum(A, axis=(0, 1))|mean(A, axis=1)|prod(B)|max(A, axis=1)|min(A)|std(B)
var(B, axis=0)|any(A > 6)|all(A > -9, axis=1)|argmax(A, axis=1)|argmin(B)|cumsum(A)|cumsum(A, axis=1)|sort(-A)
argsort(-A, axis=0)|zeros((2, 3))|ones(3, dtype=np.int32)|full((2, 2), 7)|arange(5)|arange(1, 2, 0.25)|linspace(0, 1, 5)
eye(3)|zeros_like(A)|ones_like(C)|reshape(A, (4, 3))|ravel(A)|transpose(A)|swapaxes(B, 0, 1)|moveaxis(A[None], 0, -1)
expand_dims(A, 1)|squeeze(A[None])|broadcast_to(B[0], (2, 4))|concatenate([A, B])|stack([A, A], axis=1)|hstack([A, B])
vstack([A[0], B[0]])|tile(A, 2)|tile(A, (2, 1))|repeat(A, 2)|flip(A, axis=0)|take(A, [1, 3])|take(A, [1, 3], axis=1)
matmul(A, B.T)|matmul(A, B[0])|dot(A, B.T)|outer(A[0], B[0])|tensordot(A, B.T, 1)|einsum('ij,kj->ik', C, C)|abs(A)
isclose(B, B + 1e-9)|atleast_2d(3.0)|sin(2)""".replace("\n", "|").split("|"),
)
def test_as_numpy(expression):
    names = {"A": A, "B": B, "C": C, "np": np}
    expected = np.asarray(eval("np." + expression, names))
    got = eval("tnp." + expression, {**names, "tnp": tnp})
    assert isinstance(got, tf.Tensor)
    got = got.numpy()
    assert got.shape == expected.shape
    assert got.dtype.kind == expected.dtype.kind
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_random_numbers_are_float64():
    assert tnp.random.randn(2, 3).dtype == tf.float64
    assert tnp.random.rand(2).shape == (2,)
    assert np.all(tnp.random.randint(3, 5, size=[20]).numpy() >= 3)
