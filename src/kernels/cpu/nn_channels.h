// Sums over everything but the channels, and per-channel arithmetic, on tensors [outer,
// channels, inner]. Channels last means inner = 1; then loops run along the channels,
// else along inner.
#pragma once

#include <cstdint>

#include "kernels/cpu/nn_isa.h"

namespace tandem::cpu {

/// `rows` loops take `rows` × `c` elements and vectors of c; `run` loops take n elements
/// of one channel.
template <class T>
struct ChannelLoops {
  // Σ x
  void (*sum_rows)(const T* x, int64_t rows, int64_t c, T* sum);
  T (*sum_run)(const T* x, int64_t n);
  // Σ (x - mean)²
  void (*square_rows)(const T* x, const T* mean, int64_t rows, int64_t c, T* sum);
  T (*square_run)(const T* x, T mean, int64_t n);
  // Σ dy and Σ dy (x - mean)
  void (*dot_rows)(const T* dy, const T* x, const T* mean, int64_t rows, int64_t c,
                   T* sum, T* dot);
  void (*dot_run)(const T* dy, const T* x, T mean, int64_t n, T* sum, T* dot);
  // y = (x - mean) * a + b
  void (*affine_rows)(const T* x, const T* mean, const T* a, const T* b, int64_t rows,
                      int64_t c, T* y);
  void (*affine_run)(const T* x, T mean, T a, T b, int64_t n, T* y);
  // dx = dy * a + (x - mean) * b + shift
  void (*blend_rows)(const T* dy, const T* x, const T* mean, const T* a, const T* b,
                     const T* shift, int64_t rows, int64_t c, T* dx);
  void (*blend_run)(const T* dy, const T* x, T mean, T a, T b, T shift, int64_t n, T* dx);
};

TANDEM_ISA_TABLE(ChannelLoops<float>, channel_loops_f32)
TANDEM_ISA_TABLE(ChannelLoops<double>, channel_loops_f64)

namespace best {
template <class T>
const ChannelLoops<T>& channel_loops();
template <>
inline const ChannelLoops<float>& channel_loops<float>() {
  return channel_loops_f32();
}
template <>
inline const ChannelLoops<double>& channel_loops<double>() {
  return channel_loops_f64();
}
}  // namespace best

}  // namespace tandem::cpu
