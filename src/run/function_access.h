// What benchmarks and tests see of a Function beyond its public face. Internal to the
// library and its benchmarks.
#pragma once

#include <cstdint>
#include <span>

#include "tandem/function.h"

namespace tandem {

struct FunctionAccess {
  /// The kernels of the last call's plan alone, `times` times, for the same arguments as
  /// that call (run/executable.h). False when the plan has more than kernels of the host.
  static bool replay_kernels(const Function& function, std::span<const Tensor> arguments,
                             int64_t times);
};

}  // namespace tandem
