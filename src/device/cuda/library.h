// NVIDIA's libraries, loaded by name at run time: from the folder that the user named,
// those that the process has already, from the Python packages that carry them (beside
// the plugin's own package), from the dynamic loader's path, from a CUDA toolkit. Handles
// stay open. Any thread.
#pragma once

#include <string>
#include <vector>

#include <dlfcn.h>

#include "tandem/error.h"

namespace tandem::cuda {

/// Loads `name` ("libnvrtc.so.13"); null when no place has it.
void* open_library(const std::string& name);
/// Loads `name` from the folder of a library that is loaded, so that it finds it when it
/// opens it by name itself: not all of the packages say where that is. Nothing happens
/// where it is not there.
void open_beside(void* library, const std::string& name);
/// The file that a handle of open_library stands for.
std::string path_of_library(void* library);
/// Where a library is looked for, in order. An empty place is the loader's own path. What
/// the process has loaded already comes before all but the user's folder.
std::vector<std::string> library_places();
/// The same for a plugin that is the file `plugin`.
std::vector<std::string> library_places(const std::string& plugin);
/// Folders of NVIDIA's Python packages beside the package in which the file `plugin`
/// lies: <site-packages>/nvidia/cu13/lib of CUDA 13, nvidia/cublas/lib, nvidia/cufft/lib,
/// … of CUDA 12, and nvidia/cudnn/lib.
std::vector<std::string> package_places(const std::string& plugin);
/// Sets `function` to the library's of that name; false, and null, where it has none.
template <class F>
bool find_symbol(void* library, const std::string& name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name.c_str()));
  return function != nullptr;
}
/// The same of a library that was loaded as `file`; throws UnavailableError where it has
/// none.
template <class F>
void need_symbol(void* library, const std::string& file, const std::string& name,
                 F& function) {
  if (!find_symbol(library, name, function)) {
    throw UnavailableError(file + " has no " + name);
  }
}

}  // namespace tandem::cuda
