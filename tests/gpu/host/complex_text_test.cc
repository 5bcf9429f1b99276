// The complex functions of elementwise programs (device/functions.cuh), run by the host,
// against those of the C library, which the CPU's kernels call: C99's Annex G for what is
// zero, infinite or no number.
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tandem::cuda {
namespace {

// What CUDA gives to every text.
struct Index {
  unsigned x = 0;
};
const Index blockIdx, blockDim, threadIdx, gridDim;
int atomicCAS(int* at, int old, int) { return *at == old ? old : *at; }
void __threadfence_system() {}
int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
using std::copysign;
using std::fabs;
using std::isfinite;
using std::isinf;

#include FUNCTIONS_TEXT

template <class R>
std::vector<R> parts() {
  const R inf = std::numeric_limits<R>::infinity(),
          nan = std::numeric_limits<R>::quiet_NaN();
  return {R(0),    R(-0.0),  R(1),    R(-1),    R(0.5),     R(-2.25), R(30),
          R(-30),  R(1e-30), R(1e30), R(-1e30), R(4.6e18),  inf,      -inf,
          R(89.5), R(-89.5), nan,     R(710.2), R(-711.25), R(-1e-30)};
}

template <class R>
bool near(R a, R b, R scale) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) <= 64 * std::numeric_limits<R>::epsilon() * scale;
}

template <class R>
void expect_same(const char* name, std::complex<R> x, cplx<R> text,
                 std::complex<R> library) {
  R scale = 0;
  for (const R v : {library.real(), library.imag()}) {
    if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
  }
  EXPECT_TRUE(near(text.re, library.real(), scale) &&
              near(text.im, library.imag(), scale))
      << name << " of " << x << ": (" << text.re << "," << text.im << "), the library "
      << library;
}

template <class R>
void check_functions() {
#define CHECK_FUNCTION(name)                                          \
  for (const R re : parts<R>()) {                                     \
    for (const R im : parts<R>()) {                                   \
      const std::complex<R> x(re, im);                                \
      expect_same(#name, x, f_##name(cplx<R>(re, im)), std::name(x)); \
    }                                                                 \
  }
  CHECK_FUNCTION(exp)
  CHECK_FUNCTION(log)
  CHECK_FUNCTION(sqrt)
  CHECK_FUNCTION(sin)
  CHECK_FUNCTION(cos)
  CHECK_FUNCTION(tan)
  CHECK_FUNCTION(sinh)
  CHECK_FUNCTION(cosh)
  CHECK_FUNCTION(tanh)
  CHECK_FUNCTION(asin)
  CHECK_FUNCTION(acos)
  CHECK_FUNCTION(atan)
  CHECK_FUNCTION(asinh)
  CHECK_FUNCTION(acosh)
  CHECK_FUNCTION(atanh)
#undef CHECK_FUNCTION
}

TEST(ComplexText, FunctionsFollowAnnexG) {
  check_functions<float>();
  check_functions<double>();
}

template <class R>
void check_powers_and_quotients() {
  const R inf = std::numeric_limits<R>::infinity(),
          nan = std::numeric_limits<R>::quiet_NaN();
  const std::vector<std::complex<R>> numbers = {
      {0, 0},     {1, 0},    {-6, 0},    {0, 2},     {1.5, -0.5},
      {inf, 0},   {-inf, 0}, {0, inf},   {inf, nan}, {nan, inf},
      {inf, inf}, {nan, 0},  {nan, nan}, {-0.0, 0},  {2.5, 1e30}};
  int fail = 0;
  for (const std::complex<R> x : numbers) {
    for (const std::complex<R> y : numbers) {
      const cplx<R> a(x.real(), x.imag()), b(y.real(), y.imag());
      expect_same("quotient", x, a / b, x / y);
      // A power of numbers without end is what the last bits of their logarithms make it.
      if (std::abs(x) == 0 || std::abs(y) <= 6) {
        expect_same("power", x, f_pow(a, b, fail), std::pow(x, y));
      }
    }
  }
}

TEST(ComplexText, PowersAndQuotientsFollowAnnexG) {
  check_powers_and_quotients<float>();
  check_powers_and_quotients<double>();
}

}  // namespace
}  // namespace tandem::cuda
