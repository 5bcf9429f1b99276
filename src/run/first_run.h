// Which kernels have run in this process. Libraries make static objects when a kernel
// first runs: threads that run it must be joined before the process destroys those, so
// the end of the process is arranged anew after such a run, and only then (each
// arrangement is kept until the end). Any thread.
#pragma once

#include <span>

#include "op/kernel.h"

namespace tandem::first_run {

/// It may still make static objects.
bool is_new(const Kernel& kernel);
/// They have run, to the end.
void settle(std::span<const Kernel* const> kernels);

}  // namespace tandem::first_run
