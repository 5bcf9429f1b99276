// Templates that turn a scalar function into block functions and put them into the table.
// Included by files compiled per ISA only; everything lies in the namespace TANDEM_ISA,
// so that variants for different instruction sets never meet in the linker.
//
//   Adder t{table};
//   t.unary<float, double>("Neg", [](auto x) { return -x; });
//   t.binary_to<bool, float, float16>("Less", [](auto x, auto y) { return x < y; });
//
// float16 and bfloat16 in the type list compute through blocks of floats.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/elementwise_blocks.h"
#include "kernels/cpu/elementwise_halfs.h"

namespace tandem::cpu::TANDEM_ISA {

// Marks "the result has the element type of the operands".
struct Same {};
template <class R, class T>
using Result = std::conditional_t<std::is_same_v<R, Same>, T, R>;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// Functions are captureless lambdas; those that read parameters take them as last
// argument.
template <class F, class... A>
inline auto call(const BlockParams& p, A... a) {
  if constexpr (std::is_invocable_v<F, A..., const BlockParams&>) {
    return F{}(a..., p);
  } else {
    return F{}(a...);
  }
}

/// Lanes to which the ends of loops over vector math are padded: the result of an element
/// does not depend on where in a block it stands.
inline constexpr int64_t kPaddedLanes = 16;

// Operand I of a loop: its element i, or the only one.
template <bool kScalar, class T>
struct Operand {
  const T* p;
  T operator[](int64_t i) const { return p[i]; }
};
template <class T>
struct Operand<true, T> {
  T value;
  explicit Operand(const T* p) : value(*p) {}
  T operator[](int64_t) const { return value; }
};

template <class F, class R, class T>
[[gnu::flatten]] void loop1(const void* const* in, void* out, int64_t n,
                            [[maybe_unused]] const BlockParams& params) {
  const BlockParams p = params;
  const T* x = static_cast<const T*>(in[0]);
  R* o = static_cast<R*>(out);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<R>(call<F>(p, x[i]));
}

/// A function of vector_math.h that holds up to some size of its argument: F::far(x) says
/// that it does not, and F::slow(x) then has the result.
template <class F, class T>
inline constexpr bool has_far = requires(T x) {
  F::far(x);
  F::slow(x);
};
template <class F, class T>
[[gnu::flatten]] void loop1_far(const void* const* in, void* out, int64_t n,
                                const BlockParams&) {
  constexpr int64_t kChunk = 256;
  alignas(64) T given[kChunk];  // the result may lie over the argument
  for (int64_t b = 0; b < n; b += kChunk) {
    const int64_t m = std::min(kChunk, n - b);
    std::memcpy(given, static_cast<const T*>(in[0]) + b,
                static_cast<size_t>(m) * sizeof(T));
    T* o = static_cast<T*>(out) + b;
    int far = 0;
#pragma omp simd reduction(| : far)
    for (int64_t i = 0; i < m; ++i) {
      o[i] = F{}(given[i]);
      far |= F::far(given[i]);
    }
    if (!far) continue;
    for (int64_t i = 0; i < m; ++i) {
      if (F::far(given[i])) o[i] = F::slow(given[i]);
    }
  }
}

template <class F, class R, class T, unsigned kScalars>
[[gnu::flatten]] void loop2(const void* const* in, void* out, int64_t n,
                            [[maybe_unused]] const BlockParams& params) {
  if (n <= 0) return;
  const BlockParams p = params;
  const Operand<(kScalars & 1) != 0, T> x(static_cast<const T*>(in[0]));
  const Operand<(kScalars & 2) != 0, T> y(static_cast<const T*>(in[1]));
  R* o = static_cast<R*>(out);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<R>(call<F>(p, x[i], y[i]));
}

template <class F, class R, class T, unsigned kScalars>
[[gnu::flatten]] void loop3(const void* const* in, void* out, int64_t n,
                            [[maybe_unused]] const BlockParams& params) {
  if (n <= 0) return;
  const BlockParams p = params;
  const Operand<(kScalars & 1) != 0, T> x(static_cast<const T*>(in[0]));
  const Operand<(kScalars & 2) != 0, T> y(static_cast<const T*>(in[1]));
  const Operand<(kScalars & 4) != 0, T> z(static_cast<const T*>(in[2]));
  R* o = static_cast<R*>(out);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<R>(call<F>(p, x[i], y[i], z[i]));
}

/// kBlock over whole vectors, then over the rest padded to a whole vector.
template <Block kBlock, class T, int kOperands, unsigned kScalars>
void padded(const void* const* in, void* out, int64_t n, const BlockParams& p) {
  const int64_t whole = n - n % kPaddedLanes;
  if (whole) kBlock(in, out, whole, p);
  if (whole == n) return;
  const auto rest = static_cast<size_t>(n - whole);
  alignas(64) T buffers[kOperands + 1][kPaddedLanes];
  const void* tail[kOperands];
  for (int i = 0; i < kOperands; ++i) {
    const T* x = static_cast<const T*>(in[i]);
    if (kScalars >> i & 1) {
      tail[i] = x;
      continue;
    }
    std::fill_n(buffers[i], kPaddedLanes, x[whole]);
    std::memcpy(buffers[i], x + whole, rest * sizeof(T));
    tail[i] = buffers[i];
  }
  kBlock(tail, buffers[kOperands], kPaddedLanes, p);
  std::memcpy(static_cast<T*>(out) + whole, buffers[kOperands], rest * sizeof(T));
}

/// kBlock over floats, for operands of type H. R: H, or bool for comparisons.
template <Block kBlock, class H, class R, int kOperands, unsigned kScalars>
void through_float(const void* const* in, void* out, int64_t n, const BlockParams& p) {
  constexpr int64_t kChunk = 512;
  alignas(64) float buffers[kOperands + 1][kChunk];
  const void* operands[kOperands];
  for (int i = 0; i < kOperands; ++i) operands[i] = buffers[i];
  for (int64_t b = 0; b < n; b += kChunk) {
    const int64_t m = std::min(kChunk, n - b);
    for (int i = 0; i < kOperands; ++i) {
      const bool one = kScalars >> i & 1;
      if (one && b > 0) continue;
      const H* x = static_cast<const H*>(in[i]);
      widen(one ? x : x + b, buffers[i], one ? 1 : m);
    }
    R* o = static_cast<R*>(out) + b;
    if constexpr (std::is_same_v<R, H>) {
      kBlock(operands, buffers[kOperands], m, p);
      narrow(buffers[kOperands], o, m);
    } else {
      kBlock(operands, o, m, p);
    }
  }
}

enum class Loop { kPlain, kPadded };

template <class F, class R, class T, int kOperands, unsigned kScalars, Loop kLoop>
constexpr Block make_block() {
  if constexpr (is_half<T>) {
    using Wide = Result<R, float>;
    constexpr Block wide = make_block<F, Wide, float, kOperands, kScalars, kLoop>();
    return through_float<wide, T, Result<R, T>, kOperands, kScalars>;
  } else {
    using O = Result<R, T>;
    constexpr Block plain = [] {
      if constexpr (kOperands == 1 && has_far<F, T>) {
        return Block(loop1_far<F, T>);
      } else if constexpr (kOperands == 1) {
        return Block(loop1<F, O, T>);
      } else if constexpr (kOperands == 2) {
        return Block(loop2<F, O, T, kScalars>);
      } else {
        return Block(loop3<F, O, T, kScalars>);
      }
    }();
    if constexpr (kLoop == Loop::kPadded) {
      return padded<plain, T, kOperands, kScalars>;
    } else {
      return plain;
    }
  }
}

/// Adds ops to the table. `cost` is per element, relative to an addition.
struct Adder {
  BlockTable& table;

  template <class R, Loop kLoop, class T, class F>
  void add1(const char* op, F, float cost) {
    ElementwiseBlocks b{1, dtype_of<Result<R, T>>, cost, {}};
    b.variants[0] = make_block<F, R, T, 1, 0, kLoop>();
    table.add(op, dtype_of<T>, b);
  }
  template <class R, Loop kLoop, class T, class F>
  void add2(const char* op, F, float cost) {
    ElementwiseBlocks b{2, dtype_of<Result<R, T>>, cost, {}};
    b.variants[0] = make_block<F, R, T, 2, 0, kLoop>();
    b.variants[1] = make_block<F, R, T, 2, 1, kLoop>();
    b.variants[2] = make_block<F, R, T, 2, 2, kLoop>();
    table.add(op, dtype_of<T>, b);
  }

  template <class... T, class F>
  void unary(const char* op, F f, float cost = 1) {
    (add1<Same, Loop::kPlain, T>(op, f, cost), ...);
  }
  template <class R, class... T, class F>
  void unary_to(const char* op, F f, float cost = 1) {
    (add1<R, Loop::kPlain, T>(op, f, cost), ...);
  }
  /// For functions of elementwise_vecmath.h.
  template <class... T, class F>
  void unary_math(const char* op, F f, float cost) {
    (add1<Same, Loop::kPadded, T>(op, f, cost), ...);
  }
  template <class... T, class F>
  void binary(const char* op, F f, float cost = 1) {
    (add2<Same, Loop::kPlain, T>(op, f, cost), ...);
  }
  template <class R, class... T, class F>
  void binary_to(const char* op, F f, float cost = 1) {
    (add2<R, Loop::kPlain, T>(op, f, cost), ...);
  }
  template <class... T, class F>
  void binary_math(const char* op, F f, float cost) {
    (add2<Same, Loop::kPadded, T>(op, f, cost), ...);
  }
};

#define TANDEM_ALL_FLOATS float16, bfloat16, float, double
#define TANDEM_SIGNED_INTS int8_t, int16_t, int32_t, int64_t
#define TANDEM_UNSIGNED_INTS uint8_t, uint16_t, uint32_t, uint64_t
#define TANDEM_ALL_INTS TANDEM_SIGNED_INTS, TANDEM_UNSIGNED_INTS

}  // namespace tandem::cpu::TANDEM_ISA
