// Inner loops over one row (softmax, cross-entropy, layer normalisation), in float32 and
// float64.
#pragma once

#include <cstdint>

#include "kernels/cpu/nn_isa.h"

namespace tandem::cpu {

template <class T>
struct RowLoops {
  void (*softmax)(const T* x, T* y, int64_t n);
  void (*log_softmax)(const T* x, T* y, int64_t n);
  void (*softmax_grad)(const T* y, const T* g, T* out, int64_t n);
  void (*log_softmax_grad)(const T* y, const T* g, T* out, int64_t n);
  // The same down `width` (≤ kColumns) neighbouring columns of n rows that are `stride`
  // apart.
  void (*softmax_columns)(const T* x, T* y, int64_t n, int64_t stride, int64_t width);
  void (*log_softmax_columns)(const T* x, T* y, int64_t n, int64_t stride, int64_t width);
  void (*softmax_grad_columns)(const T* y, const T* g, T* out, int64_t n, int64_t stride,
                               int64_t width);
  void (*log_softmax_grad_columns)(const T* y, const T* g, T* out, int64_t n,
                                   int64_t stride, int64_t width);
  // Return the loss and write softmax - labels; steps are 0 or 1 (broadcast).
  T (*cross_entropy)(const T* x, int64_t x_step, const T* labels, int64_t label_step,
                     T* backprop, int64_t n);
  T (*sparse_cross_entropy)(const T* x, int64_t label, T* backprop, int64_t n);
  // gamma and beta may be null.
  void (*layer_norm)(const T* x, const T* gamma, const T* beta, T epsilon, T* y,
                     int64_t n);
  // Adds to dgamma and dbeta.
  void (*layer_norm_grad)(const T* dy, const T* x, const T* gamma, T epsilon, T* dx,
                          T* dgamma, T* dbeta, int64_t n);
};
inline constexpr int64_t kColumns = 128;

TANDEM_ISA_TABLE(RowLoops<float>, row_loops_f32)
TANDEM_ISA_TABLE(RowLoops<double>, row_loops_f64)

namespace best {
template <class T>
const RowLoops<T>& row_loops();
template <>
inline const RowLoops<float>& row_loops<float>() {
  return row_loops_f32();
}
template <>
inline const RowLoops<double>& row_loops<double>() {
  return row_loops_f64();
}
}  // namespace best

}  // namespace tandem::cpu
