// What kernels that move whole vectors of 16 bytes and compute in float or double share:
// the sizes of vectors and of what is computed in. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/dtype.h"

namespace tandem::cuda {

inline constexpr int64_t kVectorBytes = 16;

/// Elements of a vector.
inline int64_t vector_lanes(DType dtype) {
  return kVectorBytes / static_cast<int64_t>(dtype_size(dtype));
}

/// Of a number that floats of the dtype are computed in.
inline size_t computed_bytes(DType dtype) { return dtype == DType::kFloat64 ? 8 : 4; }

}  // namespace tandem::cuda
