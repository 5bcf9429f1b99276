// Elementwise ops on complex64 and complex128.
#include <complex>

#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/elementwise_loops.h"
#include "kernels/cpu/elementwise_vecmath.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

using C64 = std::complex<float>;
using C128 = std::complex<double>;
#define TANDEM_COMPLEX C64, C128

// Without C99's recovery of infinities, which keeps loops from vectorising; as Eigen's.
template <class C>
C times(C x, C y) {
  return {x.real() * y.real() - x.imag() * y.imag(),
          x.real() * y.imag() + x.imag() * y.real()};
}
template <class C>
bool is_zero(C x) {
  return x.real() == 0 && x.imag() == 0;
}

template <class C>
C complex_expm1(C z) {
  // exp(a) cos(b) - 1 = expm1(a) cos(b) - 2 sin²(b / 2) keeps small numbers accurate.
  using T = typename C::value_type;
  const T half = std::sin(z.imag() / 2);
  const T e = std::expm1(z.real());
  return {e * std::cos(z.imag()) - 2 * half * half, (e + 1) * std::sin(z.imag())};
}
template <class C>
C complex_log1p(C z) {
  using T = typename C::value_type;
  const T a = z.real(), b = z.imag();
  if (std::fabs(a) > T(0.5) || std::fabs(b) > T(0.5)) return std::log(C(1) + z);
  return {T(0.5) * std::log1p(a * (2 + a) + b * b), std::atan2(b, 1 + a)};
}

void add_complex_arithmetic(Adder t) {
  t.binary<TANDEM_COMPLEX>("AddV2", [](auto x, auto y) { return x + y; }, 2);
  t.binary<TANDEM_COMPLEX>("Sub", [](auto x, auto y) { return x - y; }, 2);
  t.binary<TANDEM_COMPLEX>("Mul", [](auto x, auto y) { return times(x, y); }, 3);
  t.binary<TANDEM_COMPLEX>("RealDiv", [](auto x, auto y) { return x / y; }, 20);
  t.binary<TANDEM_COMPLEX>(
      "DivNoNan", [](auto x, auto y) { return is_zero(y) ? decltype(x)(0) : x / y; }, 20);
  t.binary<TANDEM_COMPLEX>(
      "MulNoNan",
      [](auto x, auto y) { return is_zero(y) ? decltype(x)(0) : times(x, y); }, 3);
  t.binary<TANDEM_COMPLEX>(
      "Xdivy", [](auto x, auto y) { return is_zero(x) ? decltype(x)(0) : x / y; }, 20);
  t.binary<TANDEM_COMPLEX>(
      "Xlogy",
      [](auto x, auto y) { return is_zero(x) ? decltype(x)(0) : times(x, std::log(y)); },
      60);
  t.binary<TANDEM_COMPLEX>(
      "Xlog1py",
      [](auto x, auto y) {
        return is_zero(x) ? decltype(x)(0) : times(x, complex_log1p(y));
      },
      60);
  t.binary<TANDEM_COMPLEX>(
      "SquaredDifference",
      [](auto x, auto y) {
        const auto d = x - y;
        return decltype(x)(d.real() * d.real() + d.imag() * d.imag());
      },
      3);
  t.binary<TANDEM_COMPLEX>("Pow", [](auto x, auto y) { return std::pow(x, y); }, 100);
  t.binary_to<bool, TANDEM_COMPLEX>("Equal", [](auto x, auto y) { return x == y; }, 2);
  t.binary_to<bool, TANDEM_COMPLEX>("NotEqual", [](auto x, auto y) { return x != y; }, 2);
  t.unary<TANDEM_COMPLEX>("Neg", [](auto x) { return -x; }, 2);
  t.unary<TANDEM_COMPLEX>("Conj", [](auto x) { return std::conj(x); }, 2);
  t.unary<TANDEM_COMPLEX>("Square", [](auto x) { return times(x, x); }, 3);
  t.unary<TANDEM_COMPLEX>("Reciprocal", [](auto x) { return decltype(x)(1) / x; }, 20);
  t.unary<TANDEM_COMPLEX>(
      "Sign",
      [](auto x) {
        const auto size = std::abs(x);
        return size == 0 ? decltype(x)(0) : x / size;
      },
      20);
}

void add_functions(Adder t) {
  t.unary<TANDEM_COMPLEX>("Sqrt", [](auto x) { return std::sqrt(x); }, 50);
  t.unary<TANDEM_COMPLEX>(
      "Rsqrt", [](auto x) { return decltype(x)(1) / std::sqrt(x); }, 70);
  t.unary<TANDEM_COMPLEX>("Exp", [](auto x) { return std::exp(x); }, 60);
  t.unary<TANDEM_COMPLEX>("Expm1", [](auto x) { return complex_expm1(x); }, 80);
  t.unary<TANDEM_COMPLEX>("Log", [](auto x) { return std::log(x); }, 60);
  t.unary<TANDEM_COMPLEX>("Log1p", [](auto x) { return complex_log1p(x); }, 60);
  t.unary<TANDEM_COMPLEX>("Sin", [](auto x) { return std::sin(x); }, 100);
  t.unary<TANDEM_COMPLEX>("Cos", [](auto x) { return std::cos(x); }, 100);
  t.unary<TANDEM_COMPLEX>("Tan", [](auto x) { return std::tan(x); }, 100);
  t.unary<TANDEM_COMPLEX>("Asin", [](auto x) { return std::asin(x); }, 150);
  t.unary<TANDEM_COMPLEX>("Acos", [](auto x) { return std::acos(x); }, 150);
  t.unary<TANDEM_COMPLEX>("Atan", [](auto x) { return std::atan(x); }, 150);
  t.unary<TANDEM_COMPLEX>("Sinh", [](auto x) { return std::sinh(x); }, 100);
  t.unary<TANDEM_COMPLEX>("Cosh", [](auto x) { return std::cosh(x); }, 100);
  t.unary<TANDEM_COMPLEX>("Tanh", [](auto x) { return std::tanh(x); }, 100);
  t.unary<TANDEM_COMPLEX>("Asinh", [](auto x) { return std::asinh(x); }, 150);
  t.unary<TANDEM_COMPLEX>("Acosh", [](auto x) { return std::acosh(x); }, 150);
  t.unary<TANDEM_COMPLEX>("Atanh", [](auto x) { return std::atanh(x); }, 150);
  t.unary<TANDEM_COMPLEX>(
      "Sigmoid",
      [](auto x) {
        using C = decltype(x);
        return C(1) / (C(1) + std::exp(-x));
      },
      80);
}

// With respect to the conjugate, as TensorFlow defines complex gradients.
void add_complex_gradients(Adder t) {
  t.binary<TANDEM_COMPLEX>(
      "SqrtGrad",
      [](auto y, auto dy) {
        using C = decltype(y);
        return times(dy, C(typename C::value_type(0.5))) / std::conj(y);
      },
      20);
  t.binary<TANDEM_COMPLEX>(
      "RsqrtGrad",
      [](auto y, auto dy) {
        using C = decltype(y);
        const C yc = std::conj(y);
        return times(times(dy, C(typename C::value_type(-0.5))),
                     times(yc, times(yc, yc)));
      },
      8);
  t.binary<TANDEM_COMPLEX>(
      "ReciprocalGrad",
      [](auto y, auto dy) {
        const auto yc = std::conj(y);
        return times(-dy, times(yc, yc));
      },
      5);
  t.binary<TANDEM_COMPLEX>(
      "SigmoidGrad",
      [](auto y, auto dy) {
        const auto yc = std::conj(y);
        return times(times(dy, yc), decltype(y)(1) - yc);
      },
      5);
  t.binary<TANDEM_COMPLEX>(
      "TanhGrad",
      [](auto y, auto dy) {
        const auto yc = std::conj(y);
        return times(dy, decltype(y)(1) - times(yc, yc));
      },
      5);
}

template <class T>
void add_parts(Adder t) {
  using C = std::complex<T>;
  // Angle is with the special functions.
  t.unary_to<T, C>("ComplexAbs", [](C x) { return vm::hypot(x.real(), x.imag()); }, 6);
  t.unary_to<T, C>("Real", [](C x) { return x.real(); });
  t.unary_to<T, C>("Imag", [](C x) { return x.imag(); });
  t.binary_to<C, T>("Complex", [](T re, T im) { return C(re, im); });
}

#undef TANDEM_COMPLEX

}  // namespace

void add_complex_blocks(BlockTable& table) {
  const Adder t{table};
  add_complex_arithmetic(t);
  add_functions(t);
  add_complex_gradients(t);
  add_parts<float>(t);
  add_parts<double>(t);
}

}  // namespace tandem::cpu::TANDEM_ISA
