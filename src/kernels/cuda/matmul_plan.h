// How a MatMul call maps onto products that cuBLASLt knows: it counts columns first, so a
// row-major C = A B is computed as C' = B' A'. Pure functions; any thread.
#pragma once

#include <vector>

#include "op/kernel.h"

namespace tandem::cuda {

struct MatMulShape {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool transpose_a = false, transpose_b = false;  // as stored
  bool conjugate_a = false, conjugate_b = false;
  int64_t lda = 1, ldb = 1;                   // elements between stored rows
  int64_t a_stride = 0, b_stride = 0;         // between matrices, where regular
  std::vector<int64_t> a_offsets, b_offsets;  // else where each begins

  bool regular() const { return a_offsets.empty() && b_offsets.empty(); }
  int64_t a_offset(int64_t i) const {
    return a_offsets.empty() ? i * a_stride : a_offsets[static_cast<size_t>(i)];
  }
  int64_t b_offset(int64_t i) const {
    return b_offsets.empty() ? i * b_stride : b_offsets[static_cast<size_t>(i)];
  }
};

MatMulShape matmul_shape(const Signature& s);

}  // namespace tandem::cuda
