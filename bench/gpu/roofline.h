// Single ops of `make bench-gpu`, each with the fewest bytes it must move or the
// arithmetic it must do: what the driver sets in relation to the machine's own limits.
// torch_ops.py has the same ops for PyTorch.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/worker.h"

namespace bench::gpu {

/// Cases "op_NAME". `small`: sizes for a machine without a GPU.
std::vector<std::pair<std::string, Setup>> op_cases(bool small);

}  // namespace bench::gpu
