// How one MatMul call maps onto plain row-major matrix products: sizes, row strides, and
// where each matrix of a broadcast batch starts. Made in prepare(), shared by all MatMul
// kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fn_ref.h"
#include "op/kernel.h"
#include "tandem/ops/linalg.h"

namespace tandem::cpu {

/// A run of batch dimensions that an operand has or is broadcast along.
struct BatchDim {
  int64_t size;
  bool in_a, in_b;
};

struct MatMulPlan {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  bool transpose_a = false, transpose_b = false;  // as stored
  bool conjugate_a = false, conjugate_b = false;  // only with the transpose
  int64_t lda = 1, ldb = 1;                       // elements between stored rows
  std::vector<BatchDim> batch_dims;           // neighbours merged; none when batch is 1
  int64_t a_stride = 0, b_stride = 0;         // between matrices, where that is regular
  std::vector<int64_t> a_offsets, b_offsets;  // else where each begins
  int threads = 1;
  size_t element = 4;

  int64_t a_offset(int64_t i) const {
    return a_offsets.empty() ? i * a_stride : a_offsets[static_cast<size_t>(i)];
  }
  int64_t b_offset(int64_t i) const {
    return b_offsets.empty() ? i * b_stride : b_offsets[static_cast<size_t>(i)];
  }
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  bool empty() const { return m == 0 || n == 0 || batch == 0; }
};

MatMulPlan plan_matmul(const Signature& s);
/// The same for an op that has more attributes.
MatMulPlan plan_product(const Signature& s, const MatMulAttrs& attrs);

/// Fills the output with zeros when there is nothing to add up. True: the call is done.
bool finish_trivial(const MatMulPlan& p, void* out);

/// A part of the rows and columns of one product of the batch.
struct MatMulTile {
  int64_t batch, row, rows, column, columns;
};
/// Cuts a call into tiles for kernels that are single-threaded inside, and runs them in
/// parallel.
void parallel_tiles(const MatMulPlan& p, double flops_per_us,
                    FnRef<void(const MatMulTile&)> body);

void register_matmul_tiles(KernelRegistry& registry);
void register_matmul_onednn(KernelRegistry& registry);
void register_matmul_primitive(KernelRegistry& registry);
void register_matmul_blas(KernelRegistry& registry);
void register_matmul_plain(KernelRegistry& registry);

}  // namespace tandem::cpu
