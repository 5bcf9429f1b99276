// MatMul and FusedMatMul through cuBLASLt. dtypes: floats and complex numbers.
#include "kernels/cuda/ended_product.h"
#include "kernels/cuda/families.h"
#include "ops/fused_products.h"

namespace tandem::cuda {

namespace {

BlasProduct prepare(const Signature& s) {
  return plan_product(s, s.attrs.as<MatMulAttrs>());
}
void launch_matmul(const BlasProduct& p, const LaunchArgs& a) { run_product(p, a); }

EndedProduct prepare_fused(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedMatMulAttrs>();
  return plan_ended(s, attrs.product(),
                    {.bias = s.inputs.size() > 2 && s.in(2).dtype != DType::kInvalid,
                     .activation = attrs.activation,
                     .alpha = attrs.alpha});
}

}  // namespace

void register_matmul(Kernels& kernels) {
  kernels.add(make_kernel<prepare, launch_matmul>("MatMul", "cuda.matmul.cublaslt",
                                                  kFloats | kComplexes));
  kernels.add(make_kernel<prepare_fused, run_ended>(
      "FusedMatMul", "cuda.fused_matmul.cublaslt", kFloats | kComplexes));
}

}  // namespace tandem::cuda
