// What times of CUDA kernels hold for: the GPU's model, the driver, the compiler of our
// kernels, cuBLASLt, and for cuDNN's kernels cuDNN (device/measured_with.h). Any thread.
#pragma once

#include <string>

#include "device/device.h"

namespace tandem::cuda {

std::string measured_on(Device& device, const std::string& kernel);

}  // namespace tandem::cuda
