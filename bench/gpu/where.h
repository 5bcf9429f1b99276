// Where the time of a model's step goes: `bench_gpu --where NAME`. One thread.
#pragma once

#include "step/models.h"

namespace bench::gpu {

/// Runs recorded steps and prints their kernels by what they take together, the longest
/// first: share, microseconds and launches of one step.
void print_where(const step::ModelCase& c);

}  // namespace bench::gpu
