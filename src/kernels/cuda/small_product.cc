// MatMul and FusedMatMul of small matrices by a kernel of our own, which takes about as
// long as one trip to memory and ends with bias and activation. float32 rounds its
// operands to TF32 where that is allowed and the GPU has it, and is exact else; half
// precision is exact either way and adds up in float32. A candidate beside cuBLASLt:
// where both fit, they are measured.
#include "kernels/cuda/small_product.h"

#include <fmt/format.h>

#include "kernels/cuda/blas_product.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/product_end.h"
#include "ops/fused_products.h"

namespace tandem::cuda {

std::string small_product_text(DType dtype, const SmallForm& form,
                               const ProductEnd& end) {
  std::string text = text_prefix(false) + end_text(end, dtype);
  text += fmt::format(
      "constexpr bool kTransposeA = {}, kTransposeB = {}, kTensorCores = {};\n"
      "constexpr int kTiles = {}, kWarps = {};\n",
      form.transpose_a, form.transpose_b, form.tensor_cores, form.tiles, form.warps);
  text += device_text("tile.cuh");
  return text + std::string(device_text("small_product.cuh"));
}

namespace {

/// As device/small_product.cuh has it.
struct SmallSizes {
  int64_t m, n, k, lda, ldb, a_stride, b_stride, out_stride;
};

struct SmallPlan {
  Function function;
  SmallSizes sizes{};
  Grid grid;
  bool bias = false;
};

constexpr int64_t kMostMultiplications = 1 << 24;
constexpr int64_t kLongestSmall = 4096;  // inner dimension

bool is_small_product(const Signature& s, const MatMulAttrs& attrs) {
  const MatMulGeometry m = matmul_geometry(s, attrs);
  return m.regular() && m.batch <= 65535 && m.m > 0 && m.n > 0 && m.k > 0 &&
         m.k <= kLongestSmall && m.n <= 65535 &&
         m.batch * m.m * m.n <= kMostMultiplications / m.k;
}
bool small_product_fits(const Signature& s) {
  return is_small_product(s, s.attrs.as<MatMulAttrs>());
}
bool fused_small_product_fits(const Signature& s) {
  return is_small_product(s, s.attrs.as<FusedMatMulAttrs>().product());
}

SmallPlan plan_small_product(const Signature& s, const MatMulAttrs& attrs,
                             const ProductEnd& end) {
  const MatMulGeometry m = matmul_geometry(s, attrs);
  const DType dtype = s.in(0).dtype;
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  SmallForm form;
  form.transpose_a = m.transpose_a;
  form.transpose_b = m.transpose_b;
  form.tensor_cores = tile_tensor_cores(gpu, dtype);
  const auto up = [](int64_t n, int64_t by) { return (n + by - 1) / by; };
  // Wide tiles read A less often, narrow ones keep more multiprocessors busy.
  const int64_t narrow = up(m.m, 16) * up(m.n, 8) * m.batch;
  form.tiles = narrow > int64_t{8} * gpu.multiprocessors() ? 4 : 1;
  const int64_t steps = up(m.k, 8);
  form.warps = steps >= 16 ? 8 : steps >= 3 ? 4 : 2;
  SmallPlan p;
  p.function = find_function(s.device, s.op->name, small_product_text(dtype, form, end),
                             "small_product");
  p.sizes = {m.m, m.n, m.k, m.lda, m.ldb, m.a_stride, m.b_stride, m.m * m.n};
  p.grid = {.x = static_cast<unsigned>(up(m.m, 16)),
            .y = static_cast<unsigned>(up(m.n, int64_t{8} * form.tiles)),
            .z = static_cast<unsigned>(m.batch),
            .threads = static_cast<unsigned>(32 * form.warps)};
  p.bias = end.bias;
  return p;
}
SmallPlan prepare_small_product(const Signature& s) {
  return plan_small_product(s, s.attrs.as<MatMulAttrs>(), {});
}
SmallPlan prepare_fused_small_product(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedMatMulAttrs>();
  return plan_small_product(
      s, attrs.product(),
      {.bias = s.inputs.size() > 2 && s.in(2).dtype != DType::kInvalid,
       .activation = attrs.activation,
       .alpha = attrs.alpha});
}
void launch_small(const SmallPlan& p, const LaunchArgs& a) {
  const void* bias = p.bias ? a.inputs[2] : nullptr;
  launch(p.function, *a.stream, p.grid, a.inputs[0], a.inputs[1], bias, a.outputs[0],
         p.sizes, guard_of(a));
}

constexpr DTypeMask kSmallTypes =
    mask(DType::kFloat32) | mask(DType::kFloat16) | mask(DType::kBFloat16);

}  // namespace

void register_small_product(Kernels& kernels) {
  kernels.add(make_kernel<prepare_small_product, launch_small>(
      "MatMul", "cuda.matmul.small", kSmallTypes, small_product_fits));
  kernels.add(make_kernel<prepare_fused_small_product, launch_small>(
      "FusedMatMul", "cuda.fused_matmul.small", kSmallTypes, fused_small_product_fits));
}

}  // namespace tandem::cuda
