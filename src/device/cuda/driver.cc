#include "device/cuda/driver.h"

#include <atomic>

#include <dlfcn.h>
#include <pthread.h>

#include "device/cuda/older_driver.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

std::atomic<bool> in_forked_child{false};

DriverLoad open_driver() {
  DriverLoad result;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    result.problem =
        "no NVIDIA driver: libcuda.so.1 cannot be loaded (" +
        std::string(why ? why : "unknown reason") +
        "); install the NVIDIA driver, or run on a machine with an NVIDIA GPU";
    return result;
  }
  auto* api = new DriverApi;
  std::string missing;
#define TANDEM_CUDA_TEXT_(name) #name
#define TANDEM_CUDA_TEXT(name) TANDEM_CUDA_TEXT_(name)
#define TANDEM_CUDA_LOAD(name)                                                       \
  api->name =                                                                        \
      reinterpret_cast<decltype(api->name)>(dlsym(library, TANDEM_CUDA_TEXT(name))); \
  if (!api->name && missing.empty()) missing = TANDEM_CUDA_TEXT(name);
  TANDEM_CUDA_DRIVER(TANDEM_CUDA_LOAD)
  const std::string needed = missing;
  TANDEM_CUDA_NEWER_DRIVER(TANDEM_CUDA_LOAD)
#undef TANDEM_CUDA_LOAD
#undef TANDEM_CUDA_TEXT
#undef TANDEM_CUDA_TEXT_
  if (needed.empty()) result.abilities = complete_driver(*api, library, missing);
  if (!missing.empty()) {
    delete api;
    result.problem = "the NVIDIA driver is too old: libcuda.so.1 has no " + missing +
                     "; install driver 535 or newer";
    return result;
  }
  result.api = api;
  pthread_atfork(nullptr, nullptr, [] { in_forked_child = true; });
  return result;
}

}  // namespace

bool forked() { return in_forked_child; }

const DriverLoad& load_driver() {
  static const DriverLoad* const loaded = new DriverLoad(open_driver());
  return *loaded;
}

const DriverApi& driver() {
  const DriverLoad& loaded = load_driver();
  if (!loaded.api) throw UnavailableError(loaded.problem);
  return *loaded.api;
}

std::string describe(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (const DriverApi* api = load_driver().api) {
    api->cuGetErrorName(result, &name);
    api->cuGetErrorString(result, &text);
  }
  if (!name) return "CUDA error " + std::to_string(static_cast<int>(result));
  return std::string(name) + " (" + (text ? text : "no description") + ")";
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  throw InternalError(std::string(what) + ": " + describe(result));
}

}  // namespace tandem::cuda
