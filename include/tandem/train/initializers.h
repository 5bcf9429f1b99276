// First values of weights, by Keras's rules. The seed decides the numbers; 0 draws from
// the program's own sequence, which random::set_seed starts.
#pragma once

#include <cstdint>

#include "tandem/tensor.h"

namespace tandem::initializers {

/// All elements equal; made on the host, so that it is a value even while a function is
/// traced.
Tensor constant(const Shape& shape, double value, DType dtype = DType::kFloat32);

/// Uniform within ±sqrt(6 / (fan in + fan out)); of filters [spatial…, in, out] the
/// spatial size counts in both.
Tensor glorot_uniform(const Shape& shape, int64_t seed = 0);
/// Normal, cut off at two standard deviations, with variance 2 / fan in.
Tensor he_normal(const Shape& shape, int64_t seed = 0);
/// Uniform in ±limit.
Tensor uniform(const Shape& shape, double limit = 0.05, int64_t seed = 0);
/// A matrix with orthonormal rows or columns, whichever are fewer.
Tensor orthogonal(const Shape& shape, int64_t seed = 0);

}  // namespace tandem::initializers
