// What the times of a device's kernels depend on beside their names and shapes: its
// model, the versions of its driver and of the libraries it uses. A plugin says it for
// its platform, so that times measured with others are not used again. Any thread.
#pragma once

#include <string>

#include "device/device.h"

namespace tandem {

using MeasuredWith = std::string (*)(Device& device, const std::string& kernel);
void set_measured_with(Platform platform, MeasuredWith describe);

/// One line; where nobody says more, the size of its memory, by which models differ.
std::string measured_with(Device& device, const std::string& kernel);

}  // namespace tandem
