#include "device/cuda/cuda_release.h"

#include <fmt/format.h>

#include "base/flags.h"
#include "device/cuda/driver.h"
#include "device/cuda/library.h"

namespace tandem::cuda {

namespace {

constexpr int kNewest = 13, kOldest = 12;

struct LibraryName {
  const char* name;
  int version[2];  // of the file in CUDA 12 and 13
};
LibraryName name_of(Library library) {
  switch (library) {
    case Library::kCublas:
      return {"cublas", {12, 13}};
    case Library::kCublasLt:
      return {"cublasLt", {12, 13}};
    case Library::kCufft:
      return {"cufft", {11, 12}};
    case Library::kCupti:
      return {"cupti", {12, 13}};
    case Library::kCusolver:
      return {"cusolver", {11, 12}};
    case Library::kCusparse:
      return {"cusparse", {12, 12}};
    case Library::kJitLink:
      return {"nvJitLink", {12, 13}};
    case Library::kNvrtc:
      break;
  }
  return {"nvrtc", {12, 13}};
}

constexpr Library kNeeded[] = {Library::kNvrtc, Library::kCublasLt};

bool can_load(int release) {
  for (const Library needed : kNeeded) {
    if (!open_library(library_file(needed, release))) return false;
  }
  return true;
}

int driver_version() {
  const DriverApi* const api = load_driver().api;
  int version = 0;
  return api && api->cuDriverGetVersion(&version) == CUDA_SUCCESS ? version : 0;
}

}  // namespace

int choose_release(int driver, int asked, FnRef<bool(int release)> usable) {
  if (asked == kNewest || asked == kOldest) return asked;
  if (driver && driver < kNewest * 1000) return kOldest;
  // Where neither is there, the newest is what a remedy names.
  return !usable(kNewest) && usable(kOldest) ? kOldest : kNewest;
}

int cuda_release() {
  static const int chosen = choose_release(
      driver_version(), static_cast<int>(env_int("TANDEM_CUDA_RELEASE", 0)),
      [](int release) { return can_load(release); });
  return chosen;
}

std::string library_file(Library library) {
  return library_file(library, cuda_release());
}

std::string library_file(Library library, int release) {
  const LibraryName n = name_of(library);
  return fmt::format("lib{}.so.{}", n.name, n.version[release - kOldest]);
}

void* open_library(Library library) { return open_library(library_file(library)); }

std::string library_remedy() {
  return fmt::format(
      "install CUDA {0} or the package extra [cuda{0}], or name its folder in "
      "TANDEM_CUDA_LIBRARY_PATH",
      cuda_release());
}

std::string missing_library() {
  for (const Library needed : kNeeded) {
    const std::string file = library_file(needed);
    if (!open_library(file)) return file + " cannot be loaded; " + library_remedy();
  }
  return {};
}

}  // namespace tandem::cuda
