// Activations and their gradients. Gradients of gradients are written with other ops.
#include <cmath>

#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/elementwise_loops.h"
#include "kernels/cpu/elementwise_vecmath.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

template <class T>
T logistic(T x) {
  return T(1) / (T(1) + vm::exp(-x));
}
// log(1 + exp(x)) without overflow; exact to rounding on both sides.
template <class T>
T log1p_exp(T x) {
  const T tail = vm::log1p(vm::exp(-std::fabs(x)));
  return (x > 0 ? x : T(0)) + tail;
}

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;

void add_rectifiers(Adder t) {
  t.unary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>(
      "Relu", [](auto x) { return (x > 0 || x != x) ? x : decltype(x)(0); });
  t.binary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>(
      "ReluGrad", [](auto g, auto x) { return x > 0 ? g : decltype(x)(0); });
  t.unary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>("Relu6", [](auto x) {
    using T = decltype(x);
    const T low = (x > 0 || x != x) ? x : T(0);
    return low > T(6) ? T(6) : low;
  });
  t.binary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>(
      "Relu6Grad", [](auto g, auto x) { return (x > 0 && x < 6) ? g : decltype(x)(0); });
  t.unary<TANDEM_ALL_FLOATS>("LeakyRelu", [](auto x, const BlockParams& p) {
    return x > 0 ? x : x * static_cast<decltype(x)>(p.a);
  });
  t.binary<TANDEM_ALL_FLOATS>("LeakyReluGrad", [](auto g, auto x, const BlockParams& p) {
    return x > 0 ? g : g * static_cast<decltype(x)>(p.a);
  });
}

void add_exponential_units(Adder t) {
  t.unary_math<TANDEM_ALL_FLOATS>(
      "Elu",
      [](auto x) {
        const auto e = vm::expm1(x);
        return x > 0 ? x : e;
      },
      9);
  t.binary<TANDEM_ALL_FLOATS>(
      "EluGrad", [](auto g, auto y) { return y < 0 ? g * (y + decltype(y)(1)) : g; });
  t.unary_math<TANDEM_ALL_FLOATS>(
      "Selu",
      [](auto x) {
        using T = decltype(x);
        const T e = T(kSeluScaleAlpha) * vm::expm1(x);
        return x > 0 ? T(kSeluScale) * x : e;
      },
      9);
  t.binary<TANDEM_ALL_FLOATS>("SeluGrad", [](auto g, auto y) {
    using T = decltype(y);
    return y < 0 ? g * (y + T(kSeluScaleAlpha)) : g * T(kSeluScale);
  });
}

void add_sigmoids(Adder t) {
  t.unary_math<TANDEM_ALL_FLOATS>("Sigmoid", [](auto x) { return logistic(x); }, 7);
  t.binary<TANDEM_ALL_FLOATS>(
      "SigmoidGrad", [](auto y, auto g) { return g * y * (decltype(y)(1) - y); });
  t.binary<TANDEM_ALL_FLOATS>(
      "TanhGrad", [](auto y, auto g) { return g * (decltype(y)(1) - y * y); });
  t.unary_math<TANDEM_ALL_FLOATS>("Softplus", [](auto x) { return log1p_exp(x); }, 14);
  t.binary_math<TANDEM_ALL_FLOATS>(
      "SoftplusGrad", [](auto g, auto x) { return g / (decltype(x)(1) + vm::exp(-x)); },
      7);
  t.unary<TANDEM_ALL_FLOATS>(
      "Softsign", [](auto x) { return x / (std::fabs(x) + decltype(x)(1)); }, 2);
  t.binary<TANDEM_ALL_FLOATS>(
      "SoftsignGrad",
      [](auto g, auto x) {
        const auto d = std::fabs(x) + decltype(x)(1);
        return g / (d * d);
      },
      2);
  t.unary_math<TANDEM_ALL_FLOATS>(
      "Silu",
      [](auto x, const BlockParams& p) {
        return x * logistic(static_cast<decltype(x)>(p.a) * x);
      },
      7);
  t.binary_math<TANDEM_ALL_FLOATS>(
      "SiluGrad",
      [](auto g, auto x, const BlockParams& p) {
        using T = decltype(x);
        const T bx = static_cast<T>(p.a) * x;
        const T s = logistic(bx);
        return g * (s * (T(1) + bx * (T(1) - s)));
      },
      8);
}

// Of the normal distribution; 1 + erf would lose the digits of its left side.
template <class T>
T normal_cdf(T x) {
  return T(0.5) * vm::erfc(-x * T(kSqrtHalf));
}
struct GeluErf {
  template <class T>
  T operator()(T x) const {
    return x * normal_cdf(x);
  }
};
struct GeluTanh {
  template <class T>
  T operator()(T x) const {
    const T inner = T(kSqrt2OverPi) * (x + T(kGeluCubic) * x * x * x);
    return x * (T(0.5) * (T(1) + vm::tanh(inner)));
  }
};
struct GeluErfGrad {
  template <class T>
  T operator()(T g, T x) const {
    const T cdf = normal_cdf(x);
    const T pdf = T(kInvSqrt2Pi) * vm::exp(T(-0.5) * x * x);
    return g * (cdf + x * pdf);
  }
};
struct GeluTanhGrad {
  template <class T>
  T operator()(T g, T x) const {
    const T square = x * x;
    const T inner = T(kSqrt2OverPi) * (x + T(kGeluCubic) * x * square);
    const T th = vm::tanh(inner);
    const T slope = T(kSqrt2OverPi) * (T(1) + T(3 * kGeluCubic) * square);
    return g * (T(0.5) * (T(1) + th) + T(0.5) * x * (T(1) - th * th) * slope);
  }
};

// One op, two forms: the parameter says which.
template <Block kExact, Block kApproximate>
void either(const void* const* in, void* out, int64_t n, const BlockParams& p) {
  (p.a != 0 ? kApproximate : kExact)(in, out, n, p);
}
template <class T>
void add_gelu(BlockTable& table) {
  constexpr auto kPad = Loop::kPadded;
  table.add("Gelu", dtype_of<T>,
            {1,
             dtype_of<T>,
             12,
             {either<make_block<GeluErf, Same, T, 1, 0, kPad>(),
                     make_block<GeluTanh, Same, T, 1, 0, kPad>()>}});
  table.add("GeluGrad", dtype_of<T>,
            {2,
             dtype_of<T>,
             20,
             {either<make_block<GeluErfGrad, Same, T, 2, 0, kPad>(),
                     make_block<GeluTanhGrad, Same, T, 2, 0, kPad>()>}});
}

}  // namespace

void add_activation_blocks(BlockTable& table) {
  const Adder t{table};
  add_rectifiers(t);
  add_exponential_units(t);
  add_sigmoids(t);
  add_gelu<float16>(table);
  add_gelu<bfloat16>(table);
  add_gelu<float>(table);
  add_gelu<double>(table);
}

}  // namespace tandem::cpu::TANDEM_ISA
