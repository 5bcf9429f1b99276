// MatMul and FusedMatMul through cuBLASLt. dtypes: floats and complex numbers. Of large
// products the library's next proposals are candidates, which plans measure.
#include "kernels/cuda/ended_product.h"
#include "kernels/cuda/families.h"
#include "ops/fused_products.h"

namespace tandem::cuda {

namespace {

template <int proposal>
BlasProduct prepare_matmul(const Signature& s) {
  return plan_product(s, s.attrs.as<MatMulAttrs>(), proposal);
}
void launch_matmul(const BlasProduct& p, const LaunchArgs& a) { run_product(p, a); }

template <int proposal>
EndedProduct prepare_fused_matmul(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedMatMulAttrs>();
  return plan_ended(s, attrs.product(),
                    {.bias = s.inputs.size() > 2 && s.in(2).dtype != DType::kInvalid,
                     .activation = attrs.activation,
                     .alpha = attrs.alpha},
                    proposal);
}

constexpr int64_t kLargeProduct = 1 << 22;  // multiplications
bool large(const Signature& s, const MatMulAttrs& attrs) {
  const MatMulGeometry m = matmul_geometry(s, attrs);
  return m.regular() && m.k > 0 && m.batch * m.m * m.n >= kLargeProduct / m.k;
}
bool large_product(const Signature& s) { return large(s, s.attrs.as<MatMulAttrs>()); }
bool large_fused(const Signature& s) {
  return large(s, s.attrs.as<FusedMatMulAttrs>().product());
}

constexpr DTypeMask kProposalTypes =
    mask(DType::kFloat32) | mask(DType::kFloat16) | mask(DType::kBFloat16);
template <int proposal>
void add_proposal(Kernels& kernels) {
  const std::string number = std::to_string(proposal + 1);
  kernels.add(make_kernel<prepare_matmul<proposal>, launch_matmul>(
      "MatMul", "cuda.matmul.cublaslt." + number, kProposalTypes, large_product));
  kernels.add(make_kernel<prepare_fused_matmul<proposal>, run_ended>(
      "FusedMatMul", "cuda.fused_matmul.cublaslt." + number, kProposalTypes,
      large_fused));
}

}  // namespace

void register_matmul(Kernels& kernels) {
  kernels.add(make_kernel<prepare_matmul<0>, launch_matmul>(
      "MatMul", "cuda.matmul.cublaslt", kFloats | kComplexes));
  kernels.add(make_kernel<prepare_fused_matmul<0>, run_ended>(
      "FusedMatMul", "cuda.fused_matmul.cublaslt", kFloats | kComplexes));
  add_proposal<1>(kernels);
  add_proposal<2>(kernels);
  add_proposal<3>(kernels);
}

}  // namespace tandem::cuda
