// What the CPU's MatMul kernels share: the geometry of a call with its threads, and how
// it is cut into tiles. Made in prepare().
#pragma once

#include <cstdint>

#include "base/fn_ref.h"
#include "kernels/common/matmul_geometry.h"
#include "op/kernel.h"

namespace tandem::cpu {

struct MatMulPlan : MatMulGeometry {
  int threads = 1;
  size_t element = 4;

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
