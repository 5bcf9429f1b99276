#include "kernels/cuda/ended_product.h"

namespace tandem::cuda {

namespace {

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

}  // namespace

EndedProduct plan_ended(const Signature& s, const MatMulAttrs& attrs, ProductEnd end,
                        int proposal) {
  const DType dtype = s.in(0).dtype;
  EndedProduct p;
  const bool sums = s.out().shape.num_elements() > 0 &&
                    s.in(0).shape.num_elements() > 0;  // else the library does nothing
  const cublasLtEpilogue_t asked = library_end(end, dtype);
  std::optional<BlasProduct> product;
  if (sums && asked != CUBLASLT_EPILOGUE_DEFAULT) {
    product = plan_product(s, attrs, asked, proposal);
  }
  if (product) {
    if (asked != CUBLASLT_EPILOGUE_BIAS) end.activation.clear();
    end.bias = false;
    p.product = std::move(*product);
  } else {
    p.product = plan_product(s, attrs, proposal);
  }
  p.workspace_bytes = p.product.workspace_bytes;
  if (!end.empty() && s.out().shape.num_elements() > 0) {
    p.end_has_bias = end.bias;
    p.end = plan_end(s.device, end, dtype, s.out().shape);
  }
  return p;
}

void run_ended(const EndedProduct& p, const LaunchArgs& a) {
  run_product(p.product, a, p.product.bias ? a.inputs[2] : nullptr);
  if (p.end) {
    run_end(*p.end, *a.stream, a.outputs[0], p.end_has_bias ? a.inputs[2] : nullptr);
  }
}

}  // namespace tandem::cuda
