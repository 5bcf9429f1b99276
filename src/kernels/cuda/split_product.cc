// MatMul and FusedMatMul of little output and a long inner dimension (a dense layer
// behind a convolution, gradients of small weights over many samples) by a kernel of our
// own whose blocks share the inner dimension. Precision as in small_product.cc; a
// candidate beside cuBLASLt: plans measure them.
#include <fmt/format.h>

#include "kernels/cuda/blas_product.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/product_end.h"
#include "kernels/cuda/small_product.h"
#include "ops/fused_products.h"

namespace tandem::cuda {

std::string split_product_text(DType dtype, const SmallForm& form,
                               const ProductEnd& end) {
  std::string text = text_prefix(false) + end_text(end, dtype);
  text += fmt::format(
      "constexpr bool kTransposeA = {}, kTransposeB = {}, kTensorCores = {};\n"
      "constexpr int kTiles = {}, kWarps = {};\n",
      form.transpose_a, form.transpose_b, form.tensor_cores, form.tiles, form.warps);
  text += device_text("tile.cuh");
  return text + std::string(device_text("split_product.cuh"));
}

namespace {

/// As device/split_product.cuh has it.
struct SplitSizes {
  int64_t m, n, k, lda, ldb, parts, share;
};

struct SplitPlan {
  Function function, end;
  SplitSizes sizes{};
  Grid grid, end_grid;
  bool bias = false;
  size_t workspace_bytes = 0;
};

constexpr int64_t kMostOutput = 1 << 16;  // elements
constexpr int64_t kShortest = 1024;       // inner dimension
constexpr int64_t kLongestSplit = int64_t{1} << 30;
constexpr int kWarps = 8, kSteps = 4;  // of a block; of a warp at least

bool is_long(const Signature& s, const MatMulAttrs& attrs) {
  const MatMulGeometry m = matmul_geometry(s, attrs);
  return m.regular() && m.batch == 1 && m.m > 0 && m.n > 0 && m.k >= kShortest &&
         m.k <= kLongestSplit && m.m <= kMostOutput && m.n <= kMostOutput &&
         m.m * m.n <= kMostOutput && m.k >= 8 * std::max(m.m, m.n);
}
bool split_product_fits(const Signature& s) {
  return is_long(s, s.attrs.as<MatMulAttrs>());
}
bool fused_split_product_fits(const Signature& s) {
  return is_long(s, s.attrs.as<FusedMatMulAttrs>().product());
}

SplitPlan plan_split_product(const Signature& s, const MatMulAttrs& attrs,
                             const ProductEnd& end) {
  const MatMulGeometry m = matmul_geometry(s, attrs);
  const DType dtype = s.in(0).dtype;
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  SmallForm form;
  form.transpose_a = m.transpose_a;
  form.transpose_b = m.transpose_b;
  form.tensor_cores = tile_tensor_cores(gpu, dtype);
  form.tiles = m.n <= 8 ? 1 : m.n <= 16 ? 2 : 4;
  form.warps = kWarps;
  const std::string text = split_product_text(dtype, form, end);
  SplitPlan p;
  p.function = find_function(s.device, s.op->name, text, "split_product");
  p.end = find_function(s.device, s.op->name, text, "split_end");
  const int64_t rows = up(m.m, 16), columns = up(m.n, int64_t{8} * form.tiles);
  const int64_t busy = int64_t{2} * gpu.multiprocessors();
  const int64_t wanted = std::clamp<int64_t>(
      std::min(up(busy, rows * columns), m.k / (8 * kWarps * kSteps)), 1, 1024);
  const int64_t share = up(up(m.k, wanted), 8) * 8;
  const int64_t parts = up(m.k, share);
  p.sizes = {m.m, m.n, m.k, m.lda, m.ldb, parts, share};
  p.grid = {.x = static_cast<unsigned>(rows),
            .y = static_cast<unsigned>(columns),
            .z = static_cast<unsigned>(parts),
            .threads = 32 * kWarps};
  p.end_grid.x = static_cast<unsigned>(up(m.m * m.n, 32));
  p.workspace_bytes = static_cast<size_t>(parts * m.m * m.n) * sizeof(float);
  p.bias = end.bias;
  return p;
}
SplitPlan prepare_split_product(const Signature& s) {
  return plan_split_product(s, s.attrs.as<MatMulAttrs>(), {});
}
SplitPlan prepare_fused_split_product(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedMatMulAttrs>();
  return plan_split_product(
      s, attrs.product(),
      {.bias = s.inputs.size() > 2 && s.in(2).dtype != DType::kInvalid,
       .activation = attrs.activation,
       .alpha = attrs.alpha});
}
void launch_split(const SplitPlan& p, const LaunchArgs& a) {
  launch(p.function, *a.stream, p.grid, a.inputs[0], a.inputs[1], a.workspace, p.sizes);
  launch(p.end, *a.stream, p.end_grid, a.workspace, p.bias ? a.inputs[2] : nullptr,
         a.outputs[0], p.sizes, guard_of(a));
}

constexpr DTypeMask kSplitTypes =
    mask(DType::kFloat32) | mask(DType::kFloat16) | mask(DType::kBFloat16);

}  // namespace

void register_split_product(Kernels& kernels) {
  kernels.add(make_kernel<prepare_split_product, launch_split>(
      "MatMul", "cuda.matmul.split", kSplitTypes, split_product_fits));
  kernels.add(make_kernel<prepare_fused_split_product, launch_split>(
      "FusedMatMul", "cuda.fused_matmul.split", kSplitTypes, fused_split_product_fits));
}

}  // namespace tandem::cuda
