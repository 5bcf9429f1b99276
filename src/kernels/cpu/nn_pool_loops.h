// Inner loops of pooling over one image [z, y, x, channels]. Images with channels first
// are given one channel at a time (channels = 1).
#pragma once

#include <cstdint>

#include "kernels/cpu/nn_isa.h"
#include "ops/nn_geometry.h"

namespace tandem::cpu {

struct PoolGeometry {
  nn::WindowDim d[3];  // z, y, x; unused leading ones have size 1
  int64_t channels = 1;
  int64_t in_positions() const { return d[0].in * d[1].in * d[2].in; }
  int64_t out_rows() const { return d[0].out * d[1].out; }
  int64_t out_positions() const { return out_rows() * d[2].out; }
};

/// Ranges are rows (z, y) of outputs, or channels where windows of several outputs
/// overlap.
template <class T>
struct PoolLoops {
  void (*max_rows)(const PoolGeometry&, const T* in, T* out, int64_t begin, int64_t end);
  void (*max_grad)(const PoolGeometry&, const T* in, const T* dout, T* din, int64_t begin,
                   int64_t end);
  void (*max_pick)(const PoolGeometry&, const T* in, const T* from, T* out, int64_t begin,
                   int64_t end);
  void (*max_index)(const PoolGeometry&, const T* in, T* out, int64_t* index,
                    int64_t begin, int64_t end);
  // Floating types only, else null.
  void (*avg_rows)(const PoolGeometry&, const T* in, T* out, int64_t begin, int64_t end);
  void (*avg_grad)(const PoolGeometry&, const T* dout, T* din, int64_t begin,
                   int64_t end);
};

struct AllPoolLoops {
  PoolLoops<float> f32;
  PoolLoops<double> f64;
  PoolLoops<int8_t> i8;
  PoolLoops<int16_t> i16;
  PoolLoops<int32_t> i32;
  PoolLoops<int64_t> i64;
  PoolLoops<uint8_t> u8;
  PoolLoops<uint16_t> u16;
};
TANDEM_ISA_TABLE(AllPoolLoops, pool_loops)

}  // namespace tandem::cpu
