// Kernels whose launch cannot be recorded for later (Stream::capture): a library inside
// waits for the device, or allocates. Plans on native devices run such a step by itself,
// between what is recorded before and after it. Marked when kernels are registered; any
// thread may ask.
#pragma once

#include <string>

#include "op/kernel.h"

namespace tandem {

void mark_uncaptured(const std::string& kernel_id);
bool is_uncaptured(const Kernel& kernel);

}  // namespace tandem
