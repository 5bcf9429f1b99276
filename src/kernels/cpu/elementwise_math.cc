// Exponentials, logarithms, trigonometric and error functions on floating-point dtypes,
// eight or sixteen lanes at a time.
#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/elementwise_loops.h"
#include "kernels/cpu/elementwise_vecmath.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

void add_exponentials(Adder t) {
  t.unary_math<TANDEM_ALL_FLOATS>("Exp", [](auto x) { return vm::exp(x); }, 5);
  t.unary_math<TANDEM_ALL_FLOATS>("Expm1", [](auto x) { return vm::expm1(x); }, 8);
  t.unary_math<TANDEM_ALL_FLOATS>("Log", [](auto x) { return vm::log(x); }, 6);
  t.unary_math<TANDEM_ALL_FLOATS>("Log1p", [](auto x) { return vm::log1p(x); }, 8);
  t.binary_math<TANDEM_ALL_FLOATS>(
      "Pow", [](auto x, auto y) { return vm::pow(x, y); }, 20);
  t.binary_math<TANDEM_ALL_FLOATS>(
      "Xlogy",
      [](auto x, auto y) {
        const auto product = x * vm::log(y);
        return x == 0 ? decltype(x)(0) : product;
      },
      7);
  t.binary_math<TANDEM_ALL_FLOATS>(
      "Xlog1py",
      [](auto x, auto y) {
        const auto product = x * vm::log1p(y);
        return x == 0 ? decltype(x)(0) : product;
      },
      9);
}

// Reducing an angle of any size takes many words of pi; libm's functions have them.
template <class F>
struct OfAngle : F {
  static bool far(double x) { return std::fabs(x) > vm::kFarAngle; }
  static double slow(double x) { return F::exact(x); }
};
struct Sine {
  static double exact(double x) { return std::sin(x); }
  double operator()(double x) const { return vm::sin(x); }
};
struct Cosine {
  static double exact(double x) { return std::cos(x); }
  double operator()(double x) const { return vm::cos(x); }
};
struct Tangent {
  static double exact(double x) { return std::tan(x); }
  template <class T>
  T operator()(T x) const {
    return vm::tan(x);
  }
};
struct TangentF : Tangent {
  static bool far(float x) { return std::fabs(x) > static_cast<float>(vm::kFarAngle); }
  static float slow(float x) { return std::tan(x); }
};

void add_trigonometric(Adder t) {
  t.unary_math<float16, bfloat16, float>("Sin", [](auto x) { return vm::sin(x); }, 8);
  t.unary_math<float16, bfloat16, float>("Cos", [](auto x) { return vm::cos(x); }, 8);
  t.unary_math<float16, bfloat16, float>("Tan", TangentF{}, 12);
  t.unary_math<double>("Sin", OfAngle<Sine>{}, 16);
  t.unary_math<double>("Cos", OfAngle<Cosine>{}, 16);
  t.unary_math<double>("Tan", OfAngle<Tangent>{}, 24);
  t.unary_math<TANDEM_ALL_FLOATS>("Asin", [](auto x) { return vm::asin(x); }, 10);
  t.unary_math<TANDEM_ALL_FLOATS>("Acos", [](auto x) { return vm::acos(x); }, 10);
  t.unary_math<TANDEM_ALL_FLOATS>("Atan", [](auto x) { return vm::atan(x); }, 10);
  t.binary_math<TANDEM_ALL_FLOATS>(
      "Atan2", [](auto y, auto x) { return vm::atan2(y, x); }, 16);
}

void add_hyperbolic(Adder t) {
  t.unary_math<TANDEM_ALL_FLOATS>("Sinh", [](auto x) { return vm::sinh(x); }, 10);
  t.unary_math<TANDEM_ALL_FLOATS>("Cosh", [](auto x) { return vm::cosh(x); }, 10);
  t.unary_math<TANDEM_ALL_FLOATS>("Tanh", [](auto x) { return vm::tanh(x); }, 8);
  t.unary_math<TANDEM_ALL_FLOATS>("Asinh", [](auto x) { return vm::asinh(x); }, 16);
  t.unary_math<TANDEM_ALL_FLOATS>("Acosh", [](auto x) { return vm::acosh(x); }, 16);
  t.unary_math<TANDEM_ALL_FLOATS>("Atanh", [](auto x) { return vm::atanh(x); }, 12);
  t.unary_math<TANDEM_ALL_FLOATS>("Erf", [](auto x) { return vm::erf(x); }, 10);
  t.unary_math<TANDEM_ALL_FLOATS>("Erfc", [](auto x) { return vm::erfc(x); }, 14);
}

}  // namespace

void add_math_blocks(BlockTable& table) {
  const Adder t{table};
  add_exponentials(t);
  add_trigonometric(t);
  add_hyperbolic(t);
}

}  // namespace tandem::cpu::TANDEM_ISA
