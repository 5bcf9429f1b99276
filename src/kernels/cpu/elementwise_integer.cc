// Division, remainder, powers, bits: operations that differ for integers, and the
// floating-point remainder. Integer division checks its divisors first and throws before
// anything is computed.
#include <bit>
#include <cfloat>
#include <cmath>

#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/elementwise_loops.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

// The quotient toward zero. Small integers divide exactly in floating point, which has
// vector instructions; y is not 0.
template <class T>
T quotient(T x, T y) {
  T q;
  if constexpr (sizeof(T) == 8) {
    if constexpr (std::is_signed_v<T>) {
      // INT64_MIN / -1 traps.
      if (y == -1) return static_cast<T>(0 - static_cast<uint64_t>(x));
    }
    q = x / y;
  } else {
    using Wide = std::conditional_t<sizeof(T) == 4, double, float>;
    using Int = std::conditional_t<sizeof(T) == 4, int64_t, int32_t>;
    q = static_cast<T>(static_cast<Int>(static_cast<Wide>(x) / static_cast<Wide>(y)));
  }
  return q;
}
template <class T>
T remainder(T x, T y, T q) {
  using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  return static_cast<T>(static_cast<U>(x) - static_cast<U>(q) * static_cast<U>(y));
}

struct FloorDiv {
  template <class T>
  T operator()(T x, T y) const {
    const T q = quotient(x, y);
    if constexpr (std::is_unsigned_v<T>) return q;
    const T r = remainder(x, y, q);
    return static_cast<T>(q - ((r != 0) & ((r < 0) != (y < 0))));
  }
};
struct FloorMod {
  template <class T>
  T operator()(T x, T y) const {
    const T r = remainder(x, y, quotient(x, y));
    if constexpr (std::is_unsigned_v<T>) return r;
    return static_cast<T>(r + (((r != 0) & ((r < 0) != (y < 0))) ? y : T(0)));
  }
};
struct TruncateDiv {
  template <class T>
  T operator()(T x, T y) const {
    return quotient(x, y);
  }
};
struct TruncateMod {
  template <class T>
  T operator()(T x, T y) const {
    return remainder(x, y, quotient(x, y));
  }
};

template <class F, class T, unsigned kScalars>
void divide(const void* const* in, void* out, int64_t n, const BlockParams& p) {
  const T* y = static_cast<const T*>(in[1]);
  const int64_t divisors = (kScalars & 2) && n > 0 ? 1 : n;
  bool zero = false;
#pragma omp simd reduction(| : zero)
  for (int64_t i = 0; i < divisors; ++i) zero |= y[i] == 0;
  if (zero) throw_integer_division_by_zero();
  loop2<F, T, T, kScalars>(in, out, n, p);
}

template <class T>
T power(T x, T y) {
  using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  U base = static_cast<U>(x), result = 1;
  for (U e = static_cast<U>(y); e; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}
template <class F, class T, unsigned kScalars>
void raise(const void* const* in, void* out, int64_t n, const BlockParams&) {
  const T* x = static_cast<const T*>(in[0]);
  const T* y = static_cast<const T*>(in[1]);
  T* o = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    const T e = y[(kScalars & 2) ? 0 : i];
    if (e < 0) throw_negative_integer_power();
    o[i] = power(x[(kScalars & 1) ? 0 : i], e);
  }
}

// The result has the sign of the divisor; the remainder of fmod is moved by one divisor.
template <bool kFloor, class T>
T place_remainder(T r, T y) {
  if (!kFloor) return r;
  return (r != 0 && (r < 0) != (y < 0)) ? r + y : r;
}

// Floats: exact in double as long as the quotient is below 2^26 (both factors of q * y
// then fit, and the rounded quotient is on the right side of the whole number). Larger
// ones, zeros and infinities as divisors go through fmod, a chunk at a time.
template <bool kFloor, unsigned kScalars>
void float_mod(const void* const* in, void* out, int64_t n, const BlockParams&) {
  constexpr int64_t kChunk = 256;
  const float* x = static_cast<const float*>(in[0]);
  const float* y = static_cast<const float*>(in[1]);
  float* o = static_cast<float*>(out);
  alignas(64) float r[kChunk];
  for (int64_t b = 0; b < n; b += kChunk) {
    const int64_t m = std::min(kChunk, n - b);
    const float* xb = (kScalars & 1) ? x : x + b;
    const float* yb = (kScalars & 2) ? y : y + b;
    bool hard = false;
#pragma omp simd reduction(| : hard)
    for (int64_t i = 0; i < m; ++i) {
      const float fx = xb[(kScalars & 1) ? 0 : i], fy = yb[(kScalars & 2) ? 0 : i];
      const double dx = fx, dy = fy;
      const double q = std::trunc(dx / dy);
      hard |= !(std::fabs(q) < 67108864.0) | !(std::fabs(fy) <= FLT_MAX);
      const float rest = std::copysign(static_cast<float>(dx - q * dy), fx);
      r[i] = place_remainder<kFloor>(rest, fy);
    }
    for (int64_t i = 0; hard && i < m; ++i) {
      const float fy = yb[(kScalars & 2) ? 0 : i];
      r[i] = place_remainder<kFloor>(std::fmod(xb[(kScalars & 1) ? 0 : i], fy), fy);
    }
    std::memcpy(o + b, r, static_cast<size_t>(m) * sizeof(float));
  }
}

template <bool kFloor>
void add_float_mod(BlockTable& table, const char* op) {
  table.add(op, DType::kFloat32,
            {2,
             DType::kFloat32,
             6,
             {float_mod<kFloor, 0>, float_mod<kFloor, 1>, float_mod<kFloor, 2>}});
  table.add(op, DType::kFloat16,
            {2,
             DType::kFloat16,
             8,
             {through_float<float_mod<kFloor, 0>, float16, float16, 2, 0>,
              through_float<float_mod<kFloor, 1>, float16, float16, 2, 1>,
              through_float<float_mod<kFloor, 2>, float16, float16, 2, 2>}});
  table.add(op, DType::kBFloat16,
            {2,
             DType::kBFloat16,
             8,
             {through_float<float_mod<kFloor, 0>, bfloat16, bfloat16, 2, 0>,
              through_float<float_mod<kFloor, 1>, bfloat16, bfloat16, 2, 1>,
              through_float<float_mod<kFloor, 2>, bfloat16, bfloat16, 2, 2>}});
  Adder{table}.binary<double>(
      op, [](double x, double y) { return place_remainder<kFloor>(std::fmod(x, y), y); },
      40);
}

template <class F, class... T>
void add_division(BlockTable& table, const char* op) {
  (table.add(op, dtype_of<T>,
             {2, dtype_of<T>, 6, {divide<F, T, 0>, divide<F, T, 1>, divide<F, T, 2>}}),
   ...);
}

template <class... T>
void add_powers(BlockTable& table) {
  (table.add(
       "Pow", dtype_of<T>,
       {2, dtype_of<T>, 10, {raise<void, T, 0>, raise<void, T, 1>, raise<void, T, 2>}}),
   ...);
}

// Shift counts outside [0, bits) are clamped into it, as TensorFlow does.
template <class T>
T shift_count(T y) {
  constexpr T kMost = sizeof(T) * 8 - 1;
  if constexpr (std::is_signed_v<T>) {
    if (y < 0) return 0;
  }
  return y > kMost ? kMost : y;
}

void add_bits(Adder t) {
  t.binary<TANDEM_ALL_INTS>("BitwiseAnd", [](auto x, auto y) { return x & y; });
  t.binary<TANDEM_ALL_INTS>("BitwiseOr", [](auto x, auto y) { return x | y; });
  t.binary<TANDEM_ALL_INTS>("BitwiseXor", [](auto x, auto y) { return x ^ y; });
  t.unary<TANDEM_ALL_INTS>("Invert", [](auto x) { return ~x; });
  t.binary<TANDEM_ALL_INTS>("LeftShift", [](auto x, auto y) {
    return std::make_unsigned_t<decltype(x)>(x) << shift_count(y);
  });
  t.binary<TANDEM_ALL_INTS>("RightShift",
                            [](auto x, auto y) { return x >> shift_count(y); });
  t.unary_to<uint8_t, TANDEM_ALL_INTS>("PopulationCount", [](auto x) {
    return std::popcount(std::make_unsigned_t<decltype(x)>(x));
  });
}

}  // namespace

void add_integer_blocks(BlockTable& table) {
  add_division<FloorDiv, TANDEM_ALL_INTS>(table, "FloorDiv");
  add_division<FloorMod, TANDEM_ALL_INTS>(table, "FloorMod");
  add_division<TruncateDiv, TANDEM_ALL_INTS>(table, "TruncateDiv");
  add_division<TruncateMod, int32_t, int64_t>(table, "TruncateMod");
  add_float_mod<true>(table, "FloorMod");
  add_float_mod<false>(table, "TruncateMod");
  add_powers<TANDEM_SIGNED_INTS>(table);
  add_bits({table});
}

}  // namespace tandem::cpu::TANDEM_ISA
