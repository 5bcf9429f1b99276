// The models of `make bench-gpu` that are too large for bench-step, on the same parts.
// cases.py has the same for the peers. Small ones have the same structure with few
// features, so that a machine without a GPU can check them.
#pragma once

#include <vector>

#include "step/models.h"

namespace bench::gpu {

std::vector<step::ModelCase> large_cases(bool small);

}  // namespace bench::gpu
