// Drivers from 535 on (CUDA 12.2): what they lack of the driver's table is done by their
// older functions, which do not know edges that let a kernel start early, and tell no
// sizes of arguments (image_parameters.h does). Filled in when the driver is loaded; any
// thread.
#pragma once

#include <string>

#include "device/cuda/driver.h"

namespace tandem::cuda {

/// Puts stand-ins where `api` has no function. `missing` becomes the name of one that
/// nothing stands in for, or empty.
DriverAbilities complete_driver(DriverApi& api, void* library, std::string& missing);

/// What is slower with a driver of this interface version than with a newer one, in words
/// after its number; empty: nothing.
std::string slower_ways(int version);

}  // namespace tandem::cuda
