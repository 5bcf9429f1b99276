#include "device/cuda/cupti.h"

#include <dlfcn.h>

#include "device/cuda/cuda_release.h"
#include "device/cuda/library.h"

namespace tandem::cuda {
namespace {

CuptiLoad open_cupti() {
  CuptiLoad result;
  const std::string name = library_file(Library::kCupti);
  void* library = open_library(name);
  if (!library) {
    result.problem = name + " cannot be loaded; " + library_remedy();
    return result;
  }
  auto* api = new CuptiApi;
  std::string missing;
#define TANDEM_CUPTI_LOAD(f)                                       \
  api->f = reinterpret_cast<decltype(api->f)>(dlsym(library, #f)); \
  if (!api->f && missing.empty()) missing = #f;
  TANDEM_CUPTI(TANDEM_CUPTI_LOAD)
#undef TANDEM_CUPTI_LOAD
  if (!missing.empty()) {
    delete api;
    result.problem =
        path_of_library(library) + " has no " + missing + "; install a newer CUPTI";
    return result;
  }
  result.api = api;
  return result;
}

}  // namespace

const CuptiLoad& load_cupti() {
  static const CuptiLoad* const loaded = new CuptiLoad(open_cupti());
  return *loaded;
}

std::string describe(const CuptiApi& api, CUptiResult result) {
  const char* text = nullptr;
  if (api.cuptiGetResultString(result, &text) != CUPTI_SUCCESS || !text) {
    return "CUPTI error " + std::to_string(static_cast<int>(result));
  }
  return text;
}

}  // namespace tandem::cuda
