// Sizes of kernels' arguments, read from machine code, which has a list of them for each
// kernel: for drivers that do not tell them (older_driver.h). Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tandem::cuda {

/// By kernel, in the order of the arguments, in bytes.
using ImageParameters = std::map<std::string, std::vector<size_t>>;

/// Of what cuModuleLoadData takes; empty where that is PTX. The image is one that the
/// driver has taken.
ImageParameters parameters_of(const void* image);

}  // namespace tandem::cuda
