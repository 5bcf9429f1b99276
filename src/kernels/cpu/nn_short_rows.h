// Softmax and cross-entropies over rows too short for vectors of their own (ten classes):
// sixteen rows at a time are turned so that each is a lane. Rows lie one after the other;
// a row's result does not depend on which rows it is computed with.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/nn_isa.h"

namespace tandem::cpu {

/// The longest row that is short.
inline constexpr int64_t kShortRow = 32;
/// Short rows worth about 20 µs.
inline int64_t short_row_grain(int64_t n) {
  return std::max<int64_t>(1, 24000 / (n + 10));
}

template <class T>
struct ShortRowLoops {
  void (*softmax)(const T* x, T* y, int64_t n, int64_t rows);
  void (*log_softmax)(const T* x, T* y, int64_t n, int64_t rows);
  // One loss per row, and softmax - labels.
  void (*cross_entropy)(const T* x, const T* labels, T* loss, T* backprop, int64_t n,
                        int64_t rows);
  void (*sparse_cross_entropy_32)(const T* x, const int32_t* labels, T* loss, T* backprop,
                                  int64_t n, int64_t rows);
  void (*sparse_cross_entropy_64)(const T* x, const int64_t* labels, T* loss, T* backprop,
                                  int64_t n, int64_t rows);
};

TANDEM_ISA_TABLE(ShortRowLoops<float>, short_row_loops_f32)
TANDEM_ISA_TABLE(ShortRowLoops<double>, short_row_loops_f64)

namespace best {
template <class T>
const ShortRowLoops<T>& short_row_loops();
template <>
inline const ShortRowLoops<float>& short_row_loops<float>() {
  return short_row_loops_f32();
}
template <>
inline const ShortRowLoops<double>& short_row_loops<double>() {
  return short_row_loops_f64();
}
}  // namespace best

}  // namespace tandem::cpu
