// The end of a product on the GPU: bias, then activation, as an elementwise program. It
// is compiled into kernels of our own, or run behind a library's product over its result.
// Made in prepare(); any thread.
#pragma once

#include <optional>

#include "kernels/cuda/elementwise.h"

namespace tandem::cuda {

/// What comes after a product: value 0 is the product, value 1 the bias if there is one.
struct ProductEnd {
  bool bias = false;
  std::string activation = {};  // one of fused_activations(), or empty
  double alpha = 0.2;
  bool empty() const { return !bias && activation.empty(); }
};

/// Of an end that is not empty.
FusedProgram end_program(const ProductEnd& end, DType dtype);

/// Text: storage type T, the type C that sums are taken in, and the end as a function
/// `T finish(C sum, C bias)`.
std::string end_text(const ProductEnd& end, DType dtype);

/// The end over a finished product of `shape`, its last axis the bias', in place.
ElementwisePlan plan_end(Device* device, const ProductEnd& end, DType dtype,
                         const Shape& shape);
void run_end(const ElementwisePlan& plan, const StreamContext& stream, void* product,
             void* bias);

}  // namespace tandem::cuda
