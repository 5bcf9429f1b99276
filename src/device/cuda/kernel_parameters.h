// How many bytes each argument of a kernel has, as the driver knows it. Asked for while
// work is recorded only. Any thread.
#pragma once

#include <cstddef>
#include <vector>

#include <cuda.h>

namespace tandem::cuda {

/// In the order of the arguments.
std::vector<size_t> parameter_sizes(CUfunction function);

}  // namespace tandem::cuda
