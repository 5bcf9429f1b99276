// Contents of float32 tensors as the host has them; waits for them.
// Short names for expectations.
#pragma once

#include <vector>

#include "tandem/tensor.h"

namespace tandem::testing {

using Floats = std::vector<float>;

inline Floats floats(const Tensor& t) { return t.to_vector<float>(); }

}  // namespace tandem::testing
