// How a MatMul call maps onto plain row-major matrix products: sizes, row strides, and
// where each matrix of a broadcast batch begins. Shared by the kernels of all platforms.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "op/op_def.h"
#include "tandem/ops/linalg.h"

namespace tandem {

/// A run of batch dimensions that an operand has or is broadcast along.
struct BatchDim {
  int64_t size;
  bool in_a, in_b;
};

struct MatMulGeometry {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  bool transpose_a = false, transpose_b = false;  // as stored
  bool conjugate_a = false, conjugate_b = false;  // only with the transpose
  int64_t lda = 1, ldb = 1;                       // elements between stored rows
  std::vector<BatchDim> batch_dims;           // neighbours merged; none when batch is 1
  int64_t a_stride = 0, b_stride = 0;         // between matrices, where that is regular
  std::vector<int64_t> a_offsets, b_offsets;  // else where each begins

  bool regular() const { return a_offsets.empty() && b_offsets.empty(); }
  int64_t a_offset(int64_t i) const {
    return a_offsets.empty() ? i * a_stride : a_offsets[static_cast<size_t>(i)];
  }
  int64_t b_offset(int64_t i) const {
    return b_offsets.empty() ? i * b_stride : b_offsets[static_cast<size_t>(i)];
  }
};

/// `attrs`: of the op, or those among its attributes that say what is multiplied.
MatMulGeometry matmul_geometry(const Signature& s, const MatMulAttrs& attrs);

}  // namespace tandem
