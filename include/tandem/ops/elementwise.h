// Elementwise math, comparison, logic, bits and casts. Binary functions broadcast as
// NumPy does; both tensors must have one dtype. Numbers take the dtype of the tensor they
// meet.
#pragma once

#include <vector>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

// ---- Arithmetic (op names in TensorFlow: AddV2, Sub, Mul, RealDiv …)
// ---------------------------
/// Sum; integers wrap around, strings are joined.
Tensor add(const Tensor& x, const Tensor& y);
Tensor subtract(const Tensor& x, const Tensor& y);
Tensor multiply(const Tensor& x, const Tensor& y);
/// True division; integers become float64 (8- and 16-bit ones float32).
Tensor divide(const Tensor& x, const Tensor& y);
/// x / y, but 0 where y is 0.
Tensor divide_no_nan(const Tensor& x, const Tensor& y);
/// x * y, but 0 where y is 0, whatever x is.
Tensor multiply_no_nan(const Tensor& x, const Tensor& y);
/// Quotient rounded down, and the remainder with the sign of the divisor.
Tensor floordiv(const Tensor& x, const Tensor& y);
Tensor floormod(const Tensor& x, const Tensor& y);
/// Quotient rounded toward zero, and the remainder with the sign of the dividend.
Tensor truncatediv(const Tensor& x, const Tensor& y);
Tensor truncatemod(const Tensor& x, const Tensor& y);
/// x to the power y. Integers must not have negative exponents.
Tensor pow(const Tensor& x, const Tensor& y);
/// The larger and the smaller one; NaN where either is NaN.
Tensor maximum(const Tensor& x, const Tensor& y);
Tensor minimum(const Tensor& x, const Tensor& y);
/// (x - y)², for complex numbers |x - y|².
Tensor squared_difference(const Tensor& x, const Tensor& y);
/// The angle of the point (x, y), in (-π, π].
Tensor atan2(const Tensor& y, const Tensor& x);
/// x / y, x * log(y) and x * log1p(y), but 0 where x is 0.
Tensor xdivy(const Tensor& x, const Tensor& y);
Tensor xlogy(const Tensor& x, const Tensor& y);
Tensor xlog1py(const Tensor& x, const Tensor& y);
/// The next representable number from x toward y.
Tensor nextafter(const Tensor& x, const Tensor& y);
/// Sum of tensors of one shape.
Tensor add_n(const std::vector<Tensor>& inputs);
inline Tensor accumulate_n(const std::vector<Tensor>& inputs) { return add_n(inputs); }

Tensor negative(const Tensor& x);
/// Absolute value; the modulus of complex numbers, as a real tensor.
Tensor abs(const Tensor& x);
/// -1, 0 or 1; x / |x| for complex numbers.
Tensor sign(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
/// 1 / x, but 0 where x is 0.
Tensor reciprocal_no_nan(const Tensor& x);

// ---- Exponentials, logarithms, trigonometry
// ----------------------------------------------------
Tensor exp(const Tensor& x);
/// exp(x) - 1, accurate near 0.
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
/// log(1 + x), accurate near 0.
Tensor log1p(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);
Tensor atanh(const Tensor& x);
/// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x);
/// log(sigmoid(x)) without overflow.
Tensor log_sigmoid(const Tensor& x);

// ---- Rounding
// ----------------------------------------------------------------------------------
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
/// To the nearest whole number, halves to even. Integers stay as they are in `round`.
Tensor round(const Tensor& x);
Tensor rint(const Tensor& x);

// ---- Special functions
// -------------------------------------------------------------------------
Tensor erf(const Tensor& x);
Tensor erfc(const Tensor& x);
Tensor erfinv(const Tensor& x);
Tensor erfcinv(const Tensor& x);
/// Quantile of the normal distribution.
Tensor ndtri(const Tensor& p);
/// log |gamma(x)|, its derivative, and higher ones.
Tensor lgamma(const Tensor& x);
Tensor digamma(const Tensor& x);
Tensor polygamma(const Tensor& n, const Tensor& x);
/// Hurwitz zeta function.
Tensor zeta(const Tensor& x, const Tensor& q);
/// Regularised incomplete gamma functions, lower and upper, and beta function.
Tensor igamma(const Tensor& a, const Tensor& x);
Tensor igammac(const Tensor& a, const Tensor& x);
Tensor betainc(const Tensor& a, const Tensor& b, const Tensor& x);
/// Bessel functions; e: scaled by exp(-|x|) (i) or exp(x) (k).
Tensor bessel_i0(const Tensor& x);
Tensor bessel_i0e(const Tensor& x);
Tensor bessel_i1(const Tensor& x);
Tensor bessel_i1e(const Tensor& x);
Tensor bessel_j0(const Tensor& x);
Tensor bessel_j1(const Tensor& x);
Tensor bessel_k0(const Tensor& x);
Tensor bessel_k0e(const Tensor& x);
Tensor bessel_k1(const Tensor& x);
Tensor bessel_k1e(const Tensor& x);
Tensor bessel_y0(const Tensor& x);
Tensor bessel_y1(const Tensor& x);
/// Dawson's integral, the exponential integral Ei, and the dilogarithm of 1 - x.
Tensor dawsn(const Tensor& x);
Tensor expint(const Tensor& x);
Tensor spence(const Tensor& x);

// ---- Comparison and logic: results are bool
// ----------------------------------------------------
Tensor equal(const Tensor& x, const Tensor& y);
Tensor not_equal(const Tensor& x, const Tensor& y);
Tensor less(const Tensor& x, const Tensor& y);
Tensor less_equal(const Tensor& x, const Tensor& y);
Tensor greater(const Tensor& x, const Tensor& y);
Tensor greater_equal(const Tensor& x, const Tensor& y);
/// |x - y| < tolerance; shapes must agree.
Tensor approximate_equal(const Tensor& x, const Tensor& y, double tolerance = 1e-5);
Tensor logical_and(const Tensor& x, const Tensor& y);
Tensor logical_or(const Tensor& x, const Tensor& y);
Tensor logical_xor(const Tensor& x, const Tensor& y);
Tensor logical_not(const Tensor& x);
Tensor is_nan(const Tensor& x);
Tensor is_inf(const Tensor& x);
Tensor is_finite(const Tensor& x);

// ---- Bits of integers
// --------------------------------------------------------------------------
Tensor bitwise_and(const Tensor& x, const Tensor& y);
Tensor bitwise_or(const Tensor& x, const Tensor& y);
Tensor bitwise_xor(const Tensor& x, const Tensor& y);
Tensor invert(const Tensor& x);
/// Counts outside the width of the dtype are clamped into it; right shifts keep the sign.
Tensor left_shift(const Tensor& x, const Tensor& y);
Tensor right_shift(const Tensor& x, const Tensor& y);
/// Number of bits that are set, as uint8.
Tensor population_count(const Tensor& x);

// ---- Casts and complex numbers
// -----------------------------------------------------------------
/// The same tensor when it has that dtype already.
Tensor cast(const Tensor& x, DType dtype);
/// A cast that clips to the range of the dtype first.
Tensor saturate_cast(const Tensor& x, DType dtype);
struct BitcastAttrs {
  DType type = DType::kFloat32;
  TANDEM_ATTRS(BitcastAttrs, type)
};
/// The same bytes as another dtype. A narrower one adds a last dimension, a wider one
/// takes it.
Tensor bitcast(const Tensor& x, DType dtype);
/// Parts of complex numbers, as real tensors; real tensors have imaginary part 0.
Tensor real(const Tensor& x);
Tensor imag(const Tensor& x);
Tensor angle(const Tensor& x);
Tensor conj(const Tensor& x);
/// float32 parts make complex64, float64 parts complex128.
Tensor complex(const Tensor& real, const Tensor& imag);

// ---- Selection
// ---------------------------------------------------------------------------------
/// x where the condition holds, else y; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);
/// x limited to [low, high], which broadcast to the shape of x.
Tensor clip_by_value(const Tensor& x, const Tensor& low, const Tensor& high);
Tensor clip_by_value(const Tensor& x, Scalar low, Scalar high);

// ---- Gradients as ops of their own: y is the forward result, dy the gradient that
// arrives ----------
Tensor sigmoid_grad(const Tensor& y, const Tensor& dy);
Tensor tanh_grad(const Tensor& y, const Tensor& dy);
Tensor sqrt_grad(const Tensor& y, const Tensor& dy);
Tensor rsqrt_grad(const Tensor& y, const Tensor& dy);
Tensor reciprocal_grad(const Tensor& y, const Tensor& dy);
/// d igamma(a, x) / d a.
Tensor igamma_grad_a(const Tensor& a, const Tensor& x);

// ---- Operators and numbers in place of tensors
// -------------------------------------------------
// == and != are left out on purpose: use equal() and not_equal().
inline Tensor operator-(const Tensor& x) { return negative(x); }
inline Tensor operator~(const Tensor& x) {
  return x.dtype() == DType::kBool ? logical_not(x) : invert(x);
}
#define TANDEM_WITH_NUMBER(function)                  \
  inline Tensor function(const Tensor& x, Scalar y) { \
    return function(x, scalar(y, x.dtype()));         \
  }                                                   \
  inline Tensor function(Scalar x, const Tensor& y) { \
    return function(scalar(x, y.dtype()), y);         \
  }
#define TANDEM_OPERATOR(symbol, function)                                             \
  inline Tensor operator symbol(const Tensor& x, const Tensor& y) {                   \
    return function(x, y);                                                            \
  }                                                                                   \
  inline Tensor operator symbol(const Tensor& x, Scalar y) { return function(x, y); } \
  inline Tensor operator symbol(Scalar x, const Tensor& y) { return function(x, y); }
TANDEM_WITH_NUMBER(add)
TANDEM_WITH_NUMBER(subtract)
TANDEM_WITH_NUMBER(multiply)
TANDEM_WITH_NUMBER(divide)
TANDEM_WITH_NUMBER(floordiv)
TANDEM_WITH_NUMBER(floormod)
TANDEM_WITH_NUMBER(pow)
TANDEM_WITH_NUMBER(maximum)
TANDEM_WITH_NUMBER(minimum)
TANDEM_WITH_NUMBER(equal)
TANDEM_WITH_NUMBER(not_equal)
TANDEM_WITH_NUMBER(less)
TANDEM_WITH_NUMBER(less_equal)
TANDEM_WITH_NUMBER(greater)
TANDEM_WITH_NUMBER(greater_equal)
TANDEM_OPERATOR(+, add)
TANDEM_OPERATOR(-, subtract)
TANDEM_OPERATOR(*, multiply)
TANDEM_OPERATOR(/, divide)
TANDEM_OPERATOR(%, floormod)
TANDEM_OPERATOR(<, less)
TANDEM_OPERATOR(<=, less_equal)
TANDEM_OPERATOR(>, greater)
TANDEM_OPERATOR(>=, greater_equal)
#undef TANDEM_WITH_NUMBER
#undef TANDEM_OPERATOR

}  // namespace tandem
