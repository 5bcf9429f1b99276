// NVIDIA's libraries, loaded by name at run time: from the dynamic loader's path, from
// the Python packages that carry them (beside the plugin's own package), from a CUDA
// toolkit. Handles stay open. Any thread.
#pragma once

#include <string>
#include <vector>

namespace tandem::cuda {

/// Loads `name` ("libnvrtc.so.13"); null when no place has it.
void* open_library(const std::string& name);
/// Where it is looked for after the loader's own path, in order.
std::vector<std::string> library_places();
/// "" when all libraries that the kernels need can be loaded, else one line that names
/// the first one missing, with a remedy.
std::string missing_library();

}  // namespace tandem::cuda
