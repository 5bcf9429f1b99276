// Kernels that reach their operands in ways which the device does not see: a library
// inside launches kernels of its own, whose arguments are nobody's business. Once
// recorded (Stream::capture), such a launch keeps its addresses, so plans give it memory
// that stays where it is. Other kernels can be told new addresses. Marked when kernels
// are registered; any thread may ask.
#pragma once

#include <string>

#include "op/kernel.h"

namespace tandem {

void mark_fixed_addresses(const std::string& kernel_id);
bool has_fixed_addresses(const Kernel& kernel);

}  // namespace tandem
