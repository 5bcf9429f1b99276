// OpenBLAS and oneDNN choose their inner loops by the processor they find. This corrects
// what they get wrong, and keeps threads out of OpenBLAS: parallel loops are ours
// (base/parallel.h).
#pragma once

#include "op/kernel.h"

namespace tandem::cpu {

/// Called once, while kernels are registered and before any of them runs.
void prepare_math_libraries();

/// Adds a kernel whose product may be a library's, with threads of its own.
void add_library_kernel(KernelRegistry& registry, Kernel kernel);

}  // namespace tandem::cpu
