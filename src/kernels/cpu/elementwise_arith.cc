// Arithmetic on real numbers: all floating-point and integer dtypes. Integers wrap.
#include <cmath>

#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/elementwise_loops.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

// Integers compute in an unsigned type of at least 32 bits, in which overflow is defined.
template <class T>
struct WrapType {
  using type = T;
};
template <class T>
  requires(std::is_integral_v<T> && sizeof(T) < 4)
struct WrapType<T> {
  using type = uint32_t;
};
template <class T>
  requires(std::is_integral_v<T> && sizeof(T) >= 4)
struct WrapType<T> {
  using type = std::make_unsigned_t<T>;
};
template <class T>
auto w(T x) {
  return static_cast<typename WrapType<T>::type>(x);
}

void add_sums(Adder t) {
  t.binary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>(
      "AddV2", [](auto x, auto y) { return w(x) + w(y); });
  t.binary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>(
      "Sub", [](auto x, auto y) { return w(x) - w(y); });
  t.binary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>(
      "Mul", [](auto x, auto y) { return w(x) * w(y); });
  t.binary<TANDEM_ALL_FLOATS, int32_t, int64_t>("SquaredDifference", [](auto x, auto y) {
    const auto d = w(x) - w(y);
    return d * d;
  });
}

void add_quotients(Adder t) {
  t.binary<TANDEM_ALL_FLOATS>("RealDiv", [](auto x, auto y) { return x / y; }, 2);
  t.binary<TANDEM_ALL_FLOATS>(
      "DivNoNan", [](auto x, auto y) { return y == 0 ? decltype(x)(0) : x / y; }, 2);
  t.binary<TANDEM_ALL_FLOATS>(
      "MulNoNan", [](auto x, auto y) { return y == 0 ? decltype(x)(0) : x * y; });
  t.binary<TANDEM_ALL_FLOATS>(
      "Xdivy", [](auto x, auto y) { return x == 0 ? decltype(x)(0) : x / y; }, 2);
  t.binary<TANDEM_ALL_FLOATS>(
      "FloorDiv", [](auto x, auto y) { return std::floor(x / y); }, 2);
  t.binary<TANDEM_ALL_FLOATS>(
      "TruncateDiv", [](auto x, auto y) { return std::trunc(x / y); }, 2);
  t.binary<float, double>(
      "NextAfter", [](auto x, auto y) { return std::nextafter(x, y); }, 16);
}

// A NaN in either operand is the result.
void add_extrema(Adder t) {
  t.binary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>(
      "Maximum", [](auto x, auto y) { return (x > y || x != x) ? x : y; });
  t.binary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>(
      "Minimum", [](auto x, auto y) { return (x < y || x != x) ? x : y; });
}

void add_unary(Adder t) {
  t.unary<TANDEM_ALL_FLOATS, TANDEM_SIGNED_INTS>("Neg", [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      return 0 - w(x);
    } else {
      return -x;
    }
  });
  t.unary<TANDEM_ALL_FLOATS, TANDEM_SIGNED_INTS>("Abs", [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      return x < 0 ? 0 - w(x) : w(x);
    } else {
      return std::fabs(x);
    }
  });
  t.unary<TANDEM_ALL_FLOATS, TANDEM_SIGNED_INTS>("Sign", [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_integral_v<T>) {
      return (x > 0) - (x < 0);
    } else {
      const T sign = static_cast<T>(x > 0) - static_cast<T>(x < 0);
      return x != x ? x : sign;
    }
  });
  t.unary<TANDEM_ALL_FLOATS, TANDEM_ALL_INTS>("Square",
                                              [](auto x) { return w(x) * w(x); });
  t.unary<TANDEM_ALL_FLOATS>("Sqrt", [](auto x) { return std::sqrt(x); }, 3);
  t.unary<TANDEM_ALL_FLOATS>(
      "Rsqrt", [](auto x) { return decltype(x)(1) / std::sqrt(x); }, 5);
  t.unary<TANDEM_ALL_FLOATS>("Reciprocal", [](auto x) { return decltype(x)(1) / x; }, 2);
  t.unary<TANDEM_ALL_FLOATS>("Floor", [](auto x) { return std::floor(x); });
  t.unary<TANDEM_ALL_FLOATS>("Ceil", [](auto x) { return std::ceil(x); });
  // nearbyint follows the rounding mode, which is to nearest even.
  t.unary<TANDEM_ALL_FLOATS>("Rint", [](auto x) { return std::nearbyint(x); });
  t.unary<TANDEM_ALL_FLOATS>("Round", [](auto x) { return std::nearbyint(x); });
  t.unary<TANDEM_SIGNED_INTS>("Round", [](auto x) { return x; });
}

// Gradients whose first operand is the forward result.
void add_gradients(Adder t) {
  t.binary<TANDEM_ALL_FLOATS>(
      "SqrtGrad", [](auto y, auto dy) { return dy * decltype(y)(0.5) / y; }, 2);
  t.binary<TANDEM_ALL_FLOATS>("RsqrtGrad", [](auto y, auto dy) {
    return dy * (decltype(y)(-0.5) * y) * (y * y);
  });
  t.binary<TANDEM_ALL_FLOATS>("ReciprocalGrad",
                              [](auto y, auto dy) { return -dy * (y * y); });
}

}  // namespace

void add_arith_blocks(BlockTable& table) {
  const Adder t{table};
  add_sums(t);
  add_quotients(t);
  add_extrema(t);
  add_unary(t);
  add_gradients(t);
}

}  // namespace tandem::cpu::TANDEM_ISA
