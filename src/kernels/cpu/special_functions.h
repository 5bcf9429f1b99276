// Special functions of the gamma, error-function and Bessel families in double precision,
// with TensorFlow's values outside their domains. Pure; any thread.
#pragma once

namespace tandem::cpu {

double lgamma(double x);
double digamma(double x);
/// Hurwitz zeta, sum over k of (q + k)^-x; NaN for x < 1, infinite at x = 1.
double zeta(double x, double q);
/// The n-th derivative of digamma, n a whole number >= 0.
double polygamma(double n, double x);

/// Regularised incomplete gamma functions, lower and upper, and d igamma / d a.
double igamma(double a, double x);
double igammac(double a, double x);
double igamma_grad_a(double a, double x);
/// Regularised incomplete beta function.
double betainc(double a, double b, double x);

/// Inverses of the error function and of the normal distribution function.
double erfinv(double x);
double ndtri(double p);

/// Modified Bessel functions of the first kind, order 0 and 1, times exp(-|x|).
double bessel_i0e(double x);
double bessel_i1e(double x);
/// Modified Bessel functions of the second kind, order 0 and 1, times exp(x); infinite
/// below 0.
double bessel_k0e(double x);
double bessel_k1e(double x);

/// The Bessel function of the second kind, order 0, from its value y by a library, which
/// near zeros of the function has lost digits: there it is made from the zero.
double bessel_y0_near_zeros(double x, double y);

/// exp(-x²) times the integral of exp(t²) from 0 to x.
double dawsn(double x);
/// The exponential integral Ei.
double expint(double x);
/// The dilogarithm of 1 - x.
double spence(double x);

}  // namespace tandem::cpu
