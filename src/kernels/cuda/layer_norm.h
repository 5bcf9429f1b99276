// The text of layer normalisation by rows in registers; see device/layer_norm.cuh. Pure;
// any thread.
#pragma once

#include <string>

#include "tandem/dtype.h"

namespace tandem::cuda {

/// Warps that share a row of n elements, `each` of them to a thread at most; 0: too long.
int layer_norm_warps(int64_t n, int64_t each);
std::string layer_norm_text(DType dtype, int64_t n, int warps);

}  // namespace tandem::cuda
