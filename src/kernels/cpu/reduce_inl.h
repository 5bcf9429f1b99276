// Templates of the reduction loops (included by the ISA sources only). A reducer `Op` has
//   In, Lane, Acc      element, what vector loops add up in, what blocks are collected in
//   identity(), map(In) → Lane, apply(Lane, Lane), merge(Acc&, Lane), combine(Acc&, Acc)
// The order of operations is fixed by sizes alone (64 or so lanes, blocks of 32 lane
// groups, 4 rows at a time), so results are the same bits for every instruction set and
// thread count.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/elementwise_halfs.h"
#include "kernels/cpu/reduce_loops.h"
#include "tandem/half.h"

namespace tandem::cpu::TANDEM_ISA {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// What elements of type T are computed in.
template <class T>
using Computed = std::conditional_t<kIsHalf<T>, float, T>;

/// An accumulated value as a result.
template <class T, class Acc>
T narrowed(Acc value) {
  if constexpr (kIsHalf<T>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class Op>
inline constexpr int kFoldLanes = 256 / static_cast<int>(sizeof(typename Op::Lane));

template <class Op>
void fold_row(const typename Op::In* __restrict x, int64_t n, typename Op::Acc& acc) {
  using Lane = typename Op::Lane;
  constexpr int lanes_n = kFoldLanes<Op>;
  int64_t i = 0;
  while (n - i >= lanes_n) {
    Lane lanes[lanes_n];
    for (int l = 0; l < lanes_n; ++l) lanes[l] = Op::map(x[i + l]);
    const int64_t end = std::min(n, i + lanes_n * 32) - lanes_n;
    for (i += lanes_n; i <= end; i += lanes_n) {
      for (int l = 0; l < lanes_n; ++l) lanes[l] = Op::apply(lanes[l], Op::map(x[i + l]));
    }
    for (int w = lanes_n / 2; w >= 1; w /= 2) {
      for (int l = 0; l < w; ++l) lanes[l] = Op::apply(lanes[l], lanes[l + w]);
    }
    Op::merge(acc, lanes[0]);
  }
  if (n - i >= 8) {
    Lane lanes[8];
    for (int l = 0; l < 8; ++l) lanes[l] = Op::map(x[i + l]);
    for (i += 8; i + 8 <= n; i += 8) {
      for (int l = 0; l < 8; ++l) lanes[l] = Op::apply(lanes[l], Op::map(x[i + l]));
    }
    for (int w = 4; w >= 1; w /= 2) {
      for (int l = 0; l < w; ++l) lanes[l] = Op::apply(lanes[l], lanes[l + w]);
    }
    Op::merge(acc, lanes[0]);
  }
  if (i < n) {
    Lane rest = Op::map(x[i]);
    for (++i; i < n; ++i) rest = Op::apply(rest, Op::map(x[i]));
    Op::merge(acc, rest);
  }
}

// lanes[j] takes in the rows, four at a time.
template <class Op>
void fold_columns(const typename Op::In* __restrict x, int64_t rows, int64_t stride,
                  int64_t inner, typename Op::Lane* __restrict lanes) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * stride) {
    const typename Op::In *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride;
#pragma omp simd
    for (int64_t j = 0; j < inner; ++j) {
      const auto first = Op::apply(Op::map(x[j]), Op::map(x1[j]));
      const auto second = Op::apply(Op::map(x2[j]), Op::map(x3[j]));
      lanes[j] = Op::apply(lanes[j], Op::apply(first, second));
    }
  }
  for (; r < rows; ++r, x += stride) {
#pragma omp simd
    for (int64_t j = 0; j < inner; ++j) lanes[j] = Op::apply(lanes[j], Op::map(x[j]));
  }
}

// Through lanes in blocks of 256 rows, collected in acc; `inner` may be several rows side
// by side, `period` of them make one row of acc.
template <class Op>
void fold_blocks(const typename Op::In* x, int64_t rows, int64_t stride, int64_t inner,
                 int64_t period, typename Op::Acc* acc) {
  typename Op::Lane lanes[kReduceChunk];
  for (int64_t r = 0; r < rows; r += 256) {
    std::fill_n(lanes, inner, Op::identity());
    fold_columns<Op>(x + r * stride, std::min<int64_t>(256, rows - r), stride, inner,
                     lanes);
    for (int64_t k = 0; k < inner; k += period) {
      for (int64_t j = 0; j < period; ++j) Op::merge(acc[j], lanes[k + j]);
    }
  }
}

template <class Op>
struct Loops {
  using In = typename Op::In;
  using Lane = typename Op::Lane;
  using Acc = typename Op::Acc;
  static_assert(sizeof(Acc) <= kMaxAccumulator);

  static void init(void* acc, int64_t n) {
    std::fill_n(static_cast<Acc*>(acc), n, Acc(Op::identity()));
  }
  static void rows(const void* x, int64_t rows, int64_t stride, int64_t n, void* acc) {
    const auto* p = static_cast<const In*>(x);
    auto* a = static_cast<Acc*>(acc);
    for (int64_t r = 0; r < rows; ++r) fold_row<Op>(p + r * stride, n, a[r]);
  }
  static void columns(const void* x, int64_t rows, int64_t stride, int64_t inner,
                      void* acc) {
    const auto* p = static_cast<const In*>(x);
    auto* a = static_cast<Acc*>(acc);
    // Narrow rows: several side by side make full vectors.
    if (inner < kFoldLanes<Op> / 2 && stride == inner && rows >= 8) {
      const int64_t side = std::min<int64_t>(256 / inner, rows / 4);
      const int64_t whole = rows / side;
      fold_blocks<Op>(p, whole, side * inner, side * inner, inner, a);
      p += whole * side * inner;
      rows -= whole * side;
    }
    if constexpr (std::is_same_v<Acc, Lane>) {
      fold_columns<Op>(p, rows, stride, inner, a);
    } else {
      fold_blocks<Op>(p, rows, stride, inner, inner, a);
    }
  }
  static void combine(void* acc, const void* other, int64_t n) {
    auto* a = static_cast<Acc*>(acc);
    const auto* b = static_cast<const Acc*>(other);
    for (int64_t i = 0; i < n; ++i) Op::combine(a[i], b[i]);
  }
};

// ---- float16 and bfloat16: whole blocks as float, then the loops of float -----------

/// `L` are loops over float.
template <class H, class L>
struct HalfLoops {
  static void rows(const void* x, int64_t rows, int64_t stride, int64_t n, void* acc) {
    const auto* p = static_cast<const H*>(x);
    auto* a = static_cast<typename L::Acc*>(acc);
    constexpr int64_t kBlock = 2048;
    float block[kBlock];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t m = std::min(kBlock, n - i);
        widen(p + r * stride + i, block, m);
        L::rows(block, 1, m, m, a + r);
      }
    }
  }
  static void columns(const void* x, int64_t rows, int64_t stride, int64_t inner,
                      void* acc) {
    const auto* p = static_cast<const H*>(x);
    float block[8 * kReduceChunk];
    const int64_t step =
        std::max<int64_t>(8, 8 * kReduceChunk / std::max<int64_t>(inner, 1));
    for (int64_t r = 0; r < rows; r += step) {
      const int64_t m = std::min(step, rows - r);
      if (stride == inner) {
        widen(p + r * stride, block, m * inner);
      } else {
        for (int64_t k = 0; k < m; ++k)
          widen(p + (r + k) * stride, block + k * inner, inner);
      }
      L::columns(block, m, inner, inner, acc);
    }
  }
};

/// The table of `L` over inputs of type In, `finish` given.
template <class L, class In>
constexpr ReduceLoops make_loops(size_t out_size, decltype(ReduceLoops::finish) finish) {
  if constexpr (kIsHalf<In>) {
    return {sizeof(In),
            sizeof(typename L::Acc),
            out_size,
            L::init,
            HalfLoops<In, L>::rows,
            HalfLoops<In, L>::columns,
            L::combine,
            finish};
  } else {
    return {sizeof(In), sizeof(typename L::Acc),
            out_size,   L::init,
            L::rows,    L::columns,
            L::combine, finish};
  }
}

}  // namespace tandem::cpu::TANDEM_ISA
