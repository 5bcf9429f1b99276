// MatMul and FusedMatMul through cuBLASLt. The library adds biases and does relu and the
// tanh form of gelu itself; other ends are an elementwise kernel over the result. dtypes:
// floats and complex numbers.
#include "kernels/cuda/blas_product.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/product_end.h"
#include "ops/fused_products.h"

namespace tandem::cuda {

namespace {

BlasProduct prepare(const Signature& s) {
  return plan_product(s, s.attrs.as<MatMulAttrs>());
}
void launch_matmul(const BlasProduct& p, const LaunchArgs& a) { run_product(p, a); }

struct FusedMatMulPlan {
  BlasProduct product;
  std::optional<ElementwisePlan> end;  // what the library leaves
  size_t workspace_bytes = 0;
  bool end_has_bias = false;
};

/// The library's name for as much of an end as it can do; its default: nothing.
cublasLtEpilogue_t library_end(const ProductEnd& end, DType dtype) {
  if (!(kFloats & mask(dtype)) || dtype == DType::kFloat64) {
    return CUBLASLT_EPILOGUE_DEFAULT;
  }
  if (end.activation == "GeluTanh") {
    return end.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  }
  if (end.activation == "Relu") {
    return end.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  }
  return end.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

FusedMatMulPlan prepare_fused(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedMatMulAttrs>();
  const DType dtype = s.in(0).dtype;
  ProductEnd end{.bias = s.inputs.size() > 2 && s.in(2).dtype != DType::kInvalid,
                 .activation = attrs.activation,
                 .alpha = attrs.alpha};
  FusedMatMulPlan p;
  const bool sums = s.out().shape.num_elements() > 0 &&
                    s.in(0).shape.num_elements() > 0;  // else the library does nothing
  const cublasLtEpilogue_t asked = library_end(end, dtype);
  std::optional<BlasProduct> product;
  if (sums && asked != CUBLASLT_EPILOGUE_DEFAULT) {
    product = plan_product(s, attrs.product(), asked);
  }
  if (product) {
    if (asked != CUBLASLT_EPILOGUE_BIAS) end.activation.clear();
    end.bias = false;
    p.product = std::move(*product);
  } else {
    p.product = plan_product(s, attrs.product());
  }
  p.workspace_bytes = p.product.workspace_bytes;
  if (!end.empty() && s.out().shape.num_elements() > 0) {
    p.end_has_bias = end.bias;
    p.end = plan_end(s.device, end, dtype, s.out().shape);
  }
  return p;
}

void launch_fused(const FusedMatMulPlan& p, const LaunchArgs& a) {
  run_product(p.product, a, p.product.bias ? a.inputs[2] : nullptr);
  if (p.end) {
    run_end(*p.end, *a.stream, a.outputs[0], p.end_has_bias ? a.inputs[2] : nullptr);
  }
}

}  // namespace

void register_matmul(Kernels& kernels) {
  kernels.add(make_kernel<prepare, launch_matmul>("MatMul", "cuda.matmul.cublaslt",
                                                  kFloats | kComplexes));
  kernels.add(make_kernel<prepare_fused, launch_fused>(
      "FusedMatMul", "cuda.fused_matmul.cublaslt", kFloats | kComplexes));
}

}  // namespace tandem::cuda
