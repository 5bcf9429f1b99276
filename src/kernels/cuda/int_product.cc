// MatMul of int32 and int64, which no library multiplies. Integers wrap around, so they
// are computed as unsigned ones.
#include <fmt/format.h>

#include "kernels/common/matmul_geometry.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string int_product_text(DType dtype) {
  return text_prefix(false) +
         fmt::format("typedef {} T;\n", bits_text(dtype_size(dtype))) +
         std::string(device_text("int_product.cuh"));
}

namespace {

constexpr int kMaxBatchDims = 12;
constexpr int64_t kTileSide = 64;
static_assert(kMaxBatchDims >= kMaxRank - 2);

/// The layout is known to device/int_product.cuh.
struct Product {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t a_row = 0, a_step = 0, b_row = 0, b_step = 0;
  int64_t sizes[kMaxBatchDims] = {};
  int64_t a_moves[kMaxBatchDims] = {}, b_moves[kMaxBatchDims] = {};
  int32_t dims = 0;
};
struct ProductPlan {
  Function function;
  Product args;
  int64_t tiles = 0;
};

ProductPlan prepare_int_product(const Signature& s) {
  const MatMulGeometry g = matmul_geometry(s, s.attrs.as<MatMulAttrs>());
  ProductPlan p;
  Product& x = p.args;
  x.m = g.m;
  x.n = g.n;
  x.k = g.k;
  x.batch = g.batch;
  x.a_row = g.transpose_a ? 1 : g.lda;
  x.a_step = g.transpose_a ? g.lda : 1;
  x.b_row = g.transpose_b ? 1 : g.ldb;
  x.b_step = g.transpose_b ? g.ldb : 1;
  int64_t a_move = g.m * g.k, b_move = g.k * g.n;
  for (size_t i = g.batch_dims.size(); i-- > 0; ++x.dims) {
    const BatchDim& d = g.batch_dims[i];
    x.sizes[x.dims] = d.size;
    if (d.in_a) x.a_moves[x.dims] = std::exchange(a_move, a_move * d.size);
    if (d.in_b) x.b_moves[x.dims] = std::exchange(b_move, b_move * d.size);
  }
  p.tiles =
      (g.m + kTileSide - 1) / kTileSide * ((g.n + kTileSide - 1) / kTileSide) * g.batch;
  p.function =
      find_function(s.device, s.op->name, int_product_text(s.out().dtype), "int_product");
  return p;
}
void launch_int_product(const ProductPlan& p, const LaunchArgs& a) {
  if (p.tiles == 0) return;
  const Grid grid{.x = static_cast<unsigned>(std::min<int64_t>(p.tiles, 1 << 30)),
                  .threads = 256};
  launch(p.function, *a.stream, grid, a.inputs[0], a.inputs[1], a.outputs[0], p.args);
}

}  // namespace

void register_int_product(Kernels& kernels) {
  kernels.add(make_kernel<prepare_int_product, launch_int_product>(
      "MatMul", "cuda.matmul.integer", mask(DType::kInt32, DType::kInt64)));
}

}  // namespace tandem::cuda
