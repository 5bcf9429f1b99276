// Conversions between all dtypes but strings, as TensorFlow converts on the CPU:
//   complex to anything    the real part
//   anything to bool       not zero
//   float32 to 8, 16 bits  through int32, low bits
//   other floats to those  through int32, saturated
//   floats to 32, 64 bits  toward zero; out of range and NaN: the smallest integer
#include <bit>
#include <complex>
#include <limits>

#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/elementwise_loops.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

enum class Narrow { kLowBits, kSaturate };

// Out-of-range conversions give what the processor's instructions give.
template <class To, Narrow kNarrow, class From>
To float_to_int(From x) {
  if constexpr (sizeof(To) <= 2) {
    const auto wide = static_cast<int32_t>(x);
    if constexpr (kNarrow == Narrow::kLowBits) return static_cast<To>(wide);
    constexpr int32_t kLow = std::numeric_limits<To>::min(),
                      kHigh = std::numeric_limits<To>::max();
    return static_cast<To>(wide < kLow ? kLow : wide > kHigh ? kHigh : wide);
  } else if constexpr (std::is_signed_v<To>) {
    return static_cast<To>(x);
  } else {
    using Signed = std::make_signed_t<To>;
    constexpr auto kHalf = static_cast<From>(To(1) << (sizeof(To) * 8 - 1));
    const bool upper = x >= kHalf && x < 2 * kHalf;
    const auto part = static_cast<Signed>(upper ? x - kHalf : x);
    return static_cast<To>(part) + (upper ? To(1) << (sizeof(To) * 8 - 1) : To(0));
  }
}

template <class To, Narrow kNarrow, class From>
To convert(From x) {
  if constexpr (IsComplex<From>::value) {
    if constexpr (IsComplex<To>::value) {
      using R = typename To::value_type;
      return To(static_cast<R>(x.real()), static_cast<R>(x.imag()));
    } else {
      return convert<To, kNarrow>(x.real());
    }
  } else if constexpr (IsComplex<To>::value) {
    return To(static_cast<typename To::value_type>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return float_to_int<To, kNarrow>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To, Narrow kNarrow = Narrow::kLowBits>
[[gnu::flatten]] void cast(const void* const* in, void* out, int64_t n,
                           const BlockParams&) {
  const From* x = static_cast<const From*>(in[0]);
  To* o = static_cast<To*>(out);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) o[i] = convert<To, kNarrow>(x[i]);
}

constexpr int64_t kCastChunk = 512;

template <class H, class To>
void cast_from_half(const void* const* in, void* out, int64_t n, const BlockParams& p) {
  alignas(64) float buffer[kCastChunk];
  const void* operand = buffer;
  for (int64_t b = 0; b < n; b += kCastChunk) {
    const int64_t m = std::min(kCastChunk, n - b);
    widen(static_cast<const H*>(in[0]) + b, buffer, m);
    cast<float, To, Narrow::kSaturate>(&operand, static_cast<To*>(out) + b, m, p);
  }
}
template <class From, class H>
void cast_to_half(const void* const* in, void* out, int64_t n, const BlockParams& p) {
  alignas(64) float buffer[kCastChunk];
  for (int64_t b = 0; b < n; b += kCastChunk) {
    const int64_t m = std::min(kCastChunk, n - b);
    const void* operand = static_cast<const From*>(in[0]) + b;
    cast<From, float>(&operand, buffer, m, p);
    narrow(buffer, static_cast<H*>(out) + b, m);
  }
}
template <class From, class To>
void cast_half_to_half(const void* const* in, void* out, int64_t n, const BlockParams&) {
  alignas(64) float buffer[kCastChunk];
  for (int64_t b = 0; b < n; b += kCastChunk) {
    const int64_t m = std::min(kCastChunk, n - b);
    widen(static_cast<const From*>(in[0]) + b, buffer, m);
    narrow(buffer, static_cast<To*>(out) + b, m);
  }
}

// Integers of one width have one representation: signed and unsigned results share a
// loop.
template <class From, class To>
struct LoopType {
  using type = To;
};
template <class From, class To>
  requires(std::is_integral_v<From> && std::is_integral_v<To> &&
           !std::is_same_v<To, bool>)
struct LoopType<From, To> {
  using type = std::make_unsigned_t<To>;
};

template <class From, class To>
constexpr Block cast_block() {
  if constexpr (is_half<From> && is_half<To>) {
    return cast_half_to_half<From, To>;
  } else if constexpr (is_half<From>) {
    return cast_from_half<From, To>;
  } else if constexpr (is_half<To>) {
    return cast_to_half<From, To>;
  } else if constexpr (std::is_same_v<From, double>) {
    return cast<From, To, Narrow::kSaturate>;
  } else {
    return cast<From, typename LoopType<From, To>::type>;
  }
}

// Drops the mantissa bits that the target does not have; the conversion that follows is
// exact.
template <class From, class Bits, int kDropped>
void mask_low(const From* x, From* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const auto masked =
        std::bit_cast<From>(std::bit_cast<Bits>(x[i]) & ~Bits{0} << kDropped);
    out[i] = x[i] != x[i] ? x[i] : masked;
  }
}
template <class From, class To, class Bits, int kDropped>
void truncate(const void* const* in, void* out, int64_t n, const BlockParams& p) {
  alignas(64) From buffer[kCastChunk];
  const void* operand = buffer;
  for (int64_t b = 0; b < n; b += kCastChunk) {
    const int64_t m = std::min(kCastChunk, n - b);
    mask_low<From, Bits, kDropped>(static_cast<const From*>(in[0]) + b, buffer, m);
    cast_block<From, To>()(&operand, static_cast<To*>(out) + b, m, p);
  }
}

#define TANDEM_CAST_TYPES \
  bool, TANDEM_ALL_INTS, TANDEM_ALL_FLOATS, std::complex<float>, std::complex<double>

template <class From, class... To>
void add_from(BlockTable& table) {
  (table.add_cast(dtype_of<From>, dtype_of<To>, false, cast_block<From, To>()), ...);
  (table.add_cast(dtype_of<From>, dtype_of<To>, true, cast_block<From, To>()), ...);
}
template <class... From>
void add_all(BlockTable& table) {
  (add_from<From, TANDEM_CAST_TYPES>(table), ...);
}

}  // namespace

void add_cast_blocks(BlockTable& t) {
  add_all<TANDEM_CAST_TYPES>(t);
  constexpr auto kF16 = DType::kFloat16, kBf16 = DType::kBFloat16, kF32 = DType::kFloat32,
                 kF64 = DType::kFloat64;
  t.add_cast(kF32, kBf16, true, truncate<float, bfloat16, uint32_t, 16>);
  t.add_cast(kF32, kF16, true, truncate<float, float16, uint32_t, 13>);
  t.add_cast(kF64, kF32, true, truncate<double, float, uint64_t, 29>);
  t.add_cast(kF64, kBf16, true, truncate<double, bfloat16, uint64_t, 45>);
  t.add_cast(kF64, kF16, true, truncate<double, float16, uint64_t, 42>);
}
#undef TANDEM_CAST_TYPES

}  // namespace tandem::cpu::TANDEM_ISA
