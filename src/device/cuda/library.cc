#include "device/cuda/library.h"

#include <filesystem>

#include <dlfcn.h>
#include <link.h>

#include "base/flags.h"

namespace tandem::cuda {

namespace fs = std::filesystem;

namespace {
constexpr const char* kGivenFolder = "TANDEM_CUDA_LIBRARY_PATH";
constexpr int kMode = RTLD_NOW | RTLD_LOCAL;
constexpr const char* kPackages[] = {"cu13",  // all of CUDA 13
                                     "cuda_nvrtc", "cublas",    "cufft",      "cusolver",
                                     "cusparse",   "nvjitlink", "cuda_cupti", "cudnn"};
}  // namespace

std::vector<std::string> package_places(const std::string& plugin) {
  std::vector<std::string> places;
  fs::path at = fs::path(plugin).parent_path();
  // The plugin is <site-packages>/tandem/libtandem_cuda.so, or deeper in a build tree.
  for (int up = 0; up < 4 && at.has_parent_path(); ++up, at = at.parent_path()) {
    for (const char* package : kPackages) {
      std::error_code error;
      const fs::path found = at / "nvidia" / package / "lib";
      if (fs::is_directory(found, error)) places.push_back(found.string());
    }
  }
  return places;
}

std::vector<std::string> library_places() {
  Dl_info self;
  const auto* here = reinterpret_cast<const void*>(&path_of_library);
  const bool found = dladdr(here, &self) && self.dli_fname;
  return library_places(found ? self.dli_fname : "");
}

std::vector<std::string> library_places(const std::string& plugin) {
  std::vector<std::string> places;
  if (const auto given = env_string(kGivenFolder)) places.push_back(*given);
  for (std::string& place : package_places(plugin)) places.push_back(std::move(place));
  places.emplace_back();
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto home = env_string(variable)) {
      places.push_back(*home + "/lib64");
      places.push_back(*home + "/lib");
      places.push_back(*home + "/extras/CUPTI/lib64");
    }
  }
  for (const char* standard : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib",
                               "/usr/local/cuda/extras/CUPTI/lib64"}) {
    places.emplace_back(standard);
  }
  return places;
}

void* open_library(const std::string& name) {
  if (const auto given = env_string(kGivenFolder)) {
    const std::string path = *given + "/" + name;
    if (void* library = dlopen(path.c_str(), kMode)) return library;
  }
  // PyTorch's copy, say: two of one library do not go together.
  if (void* library = dlopen(name.c_str(), kMode | RTLD_NOLOAD)) return library;
  for (const std::string& place : library_places()) {
    const std::string path = place.empty() ? name : place + "/" + name;
    if (void* library = dlopen(path.c_str(), kMode)) return library;
  }
  return nullptr;
}

void open_beside(void* library, const std::string& name) {
  const fs::path folder = fs::path(path_of_library(library)).parent_path();
  if (!folder.empty()) dlopen((folder / name).c_str(), kMode);
}

std::string path_of_library(void* library) {
  link_map* map = nullptr;
  if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map) return {};
  return map->l_name;
}

}  // namespace tandem::cuda
