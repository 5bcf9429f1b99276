// MatMul and FusedMatMul on register tiles (gemm_tiles.h): float32 products for which
// packing, threads and calls of a library cost more than they bring.
#include <algorithm>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/gemm_tiles.h"
#include "kernels/cpu/matmul_plan.h"
#include "ops/fused_products.h"

namespace tandem::cpu {

namespace {

// Where the library's packing of both operands begins to win.
constexpr double kLargestFlops = 2.5e7;
// A few columns fill a part of the lanes only; up to here that costs less than a call.
constexpr int64_t kFewTerms = 8192;

struct TilesPlan {
  MatMulPlan shape;
  const GemmTiles* tiles = nullptr;
  TileEpilogue epilogue = {};
  bool bias = false;
  double flops_per_us = 1;
};

int64_t padded_columns(const MatMulPlan& p) {
  const int64_t lanes = best::gemm_tiles().lanes;
  return (p.n + lanes - 1) / lanes * lanes;
}

bool fits(const Signature& s, const MatMulPlan& p) {
  if (p.empty() || p.k == 0) return false;
  // The library's sums depend on the number of threads, which is what was free.
  if (s.deterministic) return true;
  const int64_t padded = padded_columns(p);
  return p.flops() <= kLargestFlops &&
         (padded <= 2 * p.n || p.m * padded * p.k <= kFewTerms);
}
bool suits_tiles(const Signature& s) { return fits(s, plan_matmul(s)); }
bool fused_suits_tiles(const Signature& s) {
  return fits(s, plan_product(s, s.attrs.as<FusedMatMulAttrs>().product()));
}

TilesPlan plan_of_tiles(const MatMulPlan& shape) {
  TilesPlan p{.shape = shape, .tiles = &best::gemm_tiles()};
  p.flops_per_us = p.tiles->flops_per_us * static_cast<double>(shape.n) /
                   static_cast<double>(padded_columns(shape));
  return p;
}
TilesPlan prepare_tiles(const Signature& s) { return plan_of_tiles(plan_matmul(s)); }

TileActivation tile_activation(const std::string& name) {
  return name == "Relu"        ? TileActivation::kRelu
         : name == "Relu6"     ? TileActivation::kRelu6
         : name == "LeakyRelu" ? TileActivation::kLeakyRelu
                               : TileActivation::kNone;
}

TilesPlan prepare_fused_tiles(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedMatMulAttrs>();
  TilesPlan p = plan_of_tiles(plan_product(s, attrs.product()));
  p.bias = has_bias(s);
  p.epilogue.activation = tile_activation(attrs.activation);
  p.epilogue.alpha = static_cast<float>(attrs.alpha);
  if (p.epilogue.activation == TileActivation::kNone) {
    const Epilogue e =
        plan_epilogue(DType::kFloat32, attrs.activation, attrs.alpha, p.bias);
    p.epilogue.block = e.activation;
    p.epilogue.params = e.params;
  }
  return p;
}

void launch_tiles(const TilesPlan& plan, const LaunchArgs& args) {
  const MatMulPlan& p = plan.shape;
  const auto *a = args.in<float>(0), *b = args.in<float>(1);
  const float* bias = plan.bias ? args.in<float>(2) : nullptr;
  auto* c = args.out<float>();
  parallel_tiles(p, plan.flops_per_us, [&](const MatMulTile& t) {
    TileProduct product{
        .m = t.rows,
        .n = t.columns,
        .k = p.k,
        .a = a + p.a_offset(t.batch) + t.row * (p.transpose_a ? 1 : p.lda),
        .b = b + p.b_offset(t.batch) + t.column * (p.transpose_b ? p.ldb : 1),
        .c = c + (t.batch * p.m + t.row) * p.n + t.column,
        .lda = p.lda,
        .ldb = p.ldb,
        .ldc = p.n,
        .transpose_a = p.transpose_a,
        .transpose_b = p.transpose_b,
        .epilogue = plan.epilogue};
    if (bias) product.epilogue.bias = bias + t.column;
    plan.tiles->run(product);
  });
}

}  // namespace

void register_matmul_tiles(KernelRegistry& registry) {
  registry.add(make_kernel<&prepare_tiles, &launch_tiles>(
      "MatMul", "cpu.matmul.tiles.f32", mask(DType::kFloat32), suits_tiles));
  registry.add(make_kernel<&prepare_fused_tiles, &launch_tiles>(
      "FusedMatMul", "cpu.fused_matmul.tiles.f32", mask(DType::kFloat32),
      fused_suits_tiles));
}

}  // namespace tandem::cpu
