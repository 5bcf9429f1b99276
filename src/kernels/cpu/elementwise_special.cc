// Blocks of special functions: computed in double for every floating-point dtype. So is
// the argument of complex numbers: glibc's vector form of atan2 is off by up to 3 ulp
// there.
#include <cmath>
#include <complex>

#include <math.h>

#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/special_functions.h"

namespace tandem::cpu {

namespace {

template <class T>
double as_double_at(const void* p, int64_t i) {
  return static_cast<double>(static_cast<const T*>(p)[i]);
}
// float16 and bfloat16 convert from float.
template <class T>
T as_element(double v) {
  if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(v));
  } else {
    return static_cast<T>(v);
  }
}

template <double (*f)(double), class T>
void special1(const void* const* in, void* out, int64_t n, const BlockParams&) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<T*>(out)[i] = as_element<T>(f(as_double_at<T>(in[0], i)));
}
template <double (*f)(double, double), class T, unsigned kScalars>
void special2(const void* const* in, void* out, int64_t n, const BlockParams&) {
  for (int64_t i = 0; i < n; ++i) {
    static_cast<T*>(out)[i] =
        as_element<T>(f(as_double_at<T>(in[0], (kScalars & 1) ? 0 : i),
                        as_double_at<T>(in[1], (kScalars & 2) ? 0 : i)));
  }
}
template <double (*f)(double, double, double), class T>
void special3(const void* const* in, void* out, int64_t n, const BlockParams&) {
  for (int64_t i = 0; i < n; ++i) {
    static_cast<T*>(out)[i] = as_element<T>(f(
        as_double_at<T>(in[0], i), as_double_at<T>(in[1], i), as_double_at<T>(in[2], i)));
  }
}

template <double (*f)(double), class... T>
void add1(BlockTable& t, const char* op, float cost) {
  (t.add(op, dtype_of<T>, {1, dtype_of<T>, cost, {special1<f, T>}}), ...);
}
template <double (*f)(double)>
void unary(BlockTable& t, const char* op, float cost) {
  add1<f, float16, bfloat16, float, double>(t, op, cost);
}
template <double (*f)(double, double), class... T>
void binary(BlockTable& t, const char* op, float cost) {
  (t.add(
       op, dtype_of<T>,
       {2, dtype_of<T>, cost, {special2<f, T, 0>, special2<f, T, 1>, special2<f, T, 2>}}),
   ...);
}

template <class T>
void angle(const void* const* in, void* out, int64_t n, const BlockParams&) {
  const auto* z = static_cast<const std::complex<T>*>(in[0]);
  for (int64_t i = 0; i < n; ++i) {
    static_cast<T*>(out)[i] = as_element<T>(
        std::atan2(static_cast<double>(z[i].imag()), static_cast<double>(z[i].real())));
  }
}

double bessel_i0(double x) { return bessel_i0e(x) * std::exp(std::fabs(x)); }
double bessel_i1(double x) { return bessel_i1e(x) * std::exp(std::fabs(x)); }
double bessel_k0(double x) { return bessel_k0e(x) * std::exp(-x); }
double bessel_k1(double x) { return bessel_k1e(x) * std::exp(-x); }
double bessel_j0(double x) { return ::j0(x); }
double bessel_j1(double x) { return ::j1(x); }
double bessel_y0(double x) {
  return x < 0 ? -HUGE_VAL : bessel_y0_near_zeros(x, ::y0(x));
}
double bessel_y1(double x) { return x < 0 ? -HUGE_VAL : ::y1(x); }

}  // namespace

void add_special_blocks(BlockTable& t) {
  unary<lgamma>(t, "Lgamma", 80);
  unary<digamma>(t, "Digamma", 120);
  unary<erfinv>(t, "Erfinv", 80);
  unary<ndtri>(t, "Ndtri", 80);
  unary<bessel_i0e>(t, "BesselI0e", 300);
  unary<bessel_i1e>(t, "BesselI1e", 300);
  unary<bessel_i0>(t, "BesselI0", 300);
  unary<bessel_i1>(t, "BesselI1", 300);
  unary<bessel_j0>(t, "BesselJ0", 200);
  unary<bessel_j1>(t, "BesselJ1", 200);
  unary<bessel_y0>(t, "BesselY0", 200);
  unary<bessel_y1>(t, "BesselY1", 200);
  unary<bessel_k0e>(t, "BesselK0e", 600);
  unary<bessel_k1e>(t, "BesselK1e", 600);
  unary<bessel_k0>(t, "BesselK0", 600);
  unary<bessel_k1>(t, "BesselK1", 600);
  unary<dawsn>(t, "Dawsn", 300);
  unary<expint>(t, "Expint", 300);
  unary<spence>(t, "Spence", 300);
  binary<igamma, float16, bfloat16, float, double>(t, "Igamma", 600);
  binary<igammac, float16, bfloat16, float, double>(t, "Igammac", 600);
  binary<igamma_grad_a, float, double>(t, "IgammaGradA", 1200);
  binary<zeta, float, double>(t, "Zeta", 600);
  binary<polygamma, float, double>(t, "Polygamma", 800);
  t.add("Angle", DType::kComplex64, {1, DType::kFloat32, 50, {angle<float>}});
  t.add("Angle", DType::kComplex128, {1, DType::kFloat64, 50, {angle<double>}});
  t.add("Betainc", DType::kFloat32,
        {3, DType::kFloat32, 600, {special3<betainc, float>}});
  t.add("Betainc", DType::kFloat64,
        {3, DType::kFloat64, 600, {special3<betainc, double>}});
}

}  // namespace tandem::cpu
