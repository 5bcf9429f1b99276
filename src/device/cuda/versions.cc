#include "device/cuda/versions.h"

#include <fstream>
#include <sstream>

#include <dlfcn.h>
#include <fmt/format.h>

#include "device/cuda/cuda_release.h"
#include "device/cuda/library.h"
#include "device/cuda/older_driver.h"
#include "device/cuda/probe.h"

namespace tandem::cuda {
namespace {

std::string interface_text(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

/// "580.65.06" from the kernel module's own line; empty where there is none.
std::string module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.find('.') != std::string::npos && std::isdigit(word.front())) return word;
  }
  return {};
}

}  // namespace

PartVersion driver_part(const DriverLoad& load) {
  PartVersion part{
      "driver", "", "",
      fmt::format("{} ({}) or newer", kNeededDriverName, interface_text(kNeededDriver))};
  int version = 0;
  if (load.api && load.api->cuDriverGetVersion(&version) == CUDA_SUCCESS) {
    const std::string module = module_version();
    part.found = module.empty() ? interface_text(version)
                                : module + " (" + interface_text(version) + ")";
    part.slower = slower_ways(version);
  }
  return part;
}

namespace {

/// A library whose version is a number of the form 10000 * major + 100 * minor + patch.
PartVersion numbered_part(const char* name, const std::string& file, const char* function,
                          const std::string& needed) {
  PartVersion part{name, "", "", needed};
  void* library = open_library(file);
  if (!library) return part;
  part.where = path_of_library(library);
  part.found = "unknown version";
  if (auto* ask = reinterpret_cast<size_t (*)()>(dlsym(library, function))) {
    const size_t v = ask();
    part.found = fmt::format("{}.{}.{}", v / 10000, v % 10000 / 100, v % 100);
  }
  return part;
}

/// A library that says its version part by part (libraryPropertyType 0, 1 and 2).
PartVersion property_part(const char* name, const std::string& file, const char* function,
                          const std::string& needed) {
  PartVersion part{name, "", "", needed};
  void* library = open_library(file);
  if (!library) return part;
  part.where = path_of_library(library);
  part.found = "unknown version";
  auto* ask = reinterpret_cast<int (*)(int, int*)>(dlsym(library, function));
  int v[3] = {};
  if (ask && !ask(0, &v[0]) && !ask(1, &v[1]) && !ask(2, &v[2])) {
    part.found = fmt::format("{}.{}.{}", v[0], v[1], v[2]);
  }
  return part;
}

/// Profiles without it have the times at which work was enqueued.
PartVersion profiler_part() {
  PartVersion part{"CUPTI", "", "",
                   fmt::format("not needed: for the GPU's own times in profiles ({})",
                               library_file(Library::kCupti))};
  void* library = open_library(Library::kCupti);
  if (!library) return part;
  part.where = path_of_library(library);
  part.found = "unknown version";
  uint32_t v = 0;
  auto* ask = reinterpret_cast<int (*)(uint32_t*)>(dlsym(library, "cuptiGetVersion"));
  // 130001: CUDA 13.0, its second CUPTI.
  if (ask && ask(&v) == 0)
    part.found = fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
  return part;
}

/// "13 (libnvrtc.so.13)"
std::string needed(Library library) {
  return fmt::format("{} ({})", cuda_release(), library_file(library));
}

}  // namespace

PartVersion compiler_part() {
  PartVersion part{"NVRTC", "", "", needed(Library::kNvrtc)};
  void* library = open_library(Library::kNvrtc);
  if (!library) return part;
  part.where = path_of_library(library);
  part.found = "unknown version";
  int major = 0, minor = 0;
  auto* ask = reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "nvrtcVersion"));
  if (ask && ask(&major, &minor) == 0) part.found = fmt::format("{}.{}", major, minor);
  return part;
}

PartVersion product_part() {
  return numbered_part("cuBLASLt", library_file(Library::kCublasLt), "cublasLtGetVersion",
                       needed(Library::kCublasLt));
}

PartVersion convolution_part() {
  return numbered_part("cuDNN", "libcudnn.so.9", "cudnnGetVersion",
                       "not needed: without it large convolutions are slower");
}

std::vector<PartVersion> part_versions(const DriverLoad& load) {
  return {
      driver_part(load),
      compiler_part(),
      product_part(),
      property_part("cuBLAS", library_file(Library::kCublas), "cublasGetProperty",
                    "not needed: without it linear systems are solved on the CPU"),
      property_part("cuSOLVER", library_file(Library::kCusolver), "cusolverGetProperty",
                    "not needed: without it matrices are decomposed on the CPU"),
      property_part("cuFFT", library_file(Library::kCufft), "cufftGetProperty",
                    "not needed: without it Fourier transforms run on the CPU"),
      convolution_part(),
      profiler_part(),
  };
}

std::string describe_parts(const std::vector<PartVersion>& parts) {
  std::string text;
  for (const PartVersion& p : parts) {
    const bool optional = p.needed.starts_with("not needed");
    text += fmt::format("  {:<10} {}; {}{}{}{}\n", p.name,
                        p.found.empty() ? "not found" : "found " + p.found,
                        optional ? "" : "needed: ", p.needed,
                        p.where.empty() ? "" : "; " + p.where, p.slower);
  }
  return text;
}

}  // namespace tandem::cuda
