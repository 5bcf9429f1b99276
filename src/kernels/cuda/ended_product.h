// A matrix product through cuBLASLt with its end: the library adds biases and does relu
// and the tanh form of gelu itself; other ends are an elementwise kernel over the result.
// Made in prepare(), immutable; any thread.
#pragma once

#include <optional>

#include "kernels/cuda/blas_product.h"
#include "kernels/cuda/product_end.h"

namespace tandem::cuda {

struct EndedProduct {
  BlasProduct product;
  std::optional<ElementwisePlan> end;  // what the library leaves
  size_t workspace_bytes = 0;
  bool end_has_bias = false;
};

/// `s`: inputs 0 and 1 are the matrices; its op gives the name in messages.
EndedProduct plan_ended(const Signature& s, const MatMulAttrs& attrs, ProductEnd end,
                        int proposal = 0);
/// Input 2 is the bias, if there is one.
void run_ended(const EndedProduct& p, const LaunchArgs& a);

}  // namespace tandem::cuda
