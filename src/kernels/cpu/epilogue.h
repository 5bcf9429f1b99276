// The end of a product or convolution: bias and activation, as block functions over the
// result in place. Made in prepare; kernels apply it to parts of the result that are
// still in a cache, or to all of it at once.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cpu/elementwise_blocks.h"

namespace tandem::cpu {

/// Whether a fused product has a bias: input 2.
inline bool has_bias(const Signature& s) {
  return s.inputs.size() > 2 && s.inputs[2].dtype != DType::kInvalid;
}

struct Epilogue {
  DType dtype = DType::kInvalid;
  bool bias = false;
  Block add = nullptr;         // x + bias, elementwise
  Block add_one = nullptr;     // x + one number
  Block activation = nullptr;  // null: none
  BlockParams params = {};
  double cost = 0;  // per element, relative to an addition

  bool empty() const { return !bias && !activation; }
};

/// `activation` and `alpha` as in the attributes of FusedMatMul; `bias`: there is one.
Epilogue plan_epilogue(DType dtype, const std::string& activation, double alpha,
                       bool bias);

/// Where the bias runs: over the last dimension (inner is 1), or over a middle one.
struct EpilogueShape {
  int64_t outer = 0, channels = 0, inner = 1;
};

/// Applies it to a whole result with the team's threads.
void apply_epilogue(const Epilogue& e, const EpilogueShape& shape, void* c,
                    const void* bias);

}  // namespace tandem::cpu
