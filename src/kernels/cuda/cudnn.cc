#include "kernels/cuda/cudnn.h"

#include <fmt/format.h>

#include "base/flags.h"
#include "device/cuda/cuda_release.h"
#include "device/cuda/library.h"
#include "kernels/cuda/per_device.h"
#include "tandem/error.h"

namespace tandem::cuda {

CudnnApi load_cudnn(const std::string& file) {
  void* library = open_library(file);
  if (!library) {
    throw UnavailableError(file + " cannot be loaded; " + library_remedy());
  }
  CudnnApi api;
  // cuDNN is built for one release of CUDA, which its file's name does not say.
  size_t (*runtime)() = nullptr;
  need_symbol(library, file, "cudnnGetCudartVersion", runtime);
  if (const auto made_for = static_cast<int>(runtime() / 1000);
      made_for != cuda_release()) {
    throw UnavailableError(fmt::format("{} is for CUDA {}, and CUDA {} is in use",
                                       path_of_library(library), made_for,
                                       cuda_release()));
  }
  decltype(&::cudnnGetVersion) version = nullptr;
  need_symbol(library, file, "cudnnGetVersion", version);
  api.version = version();
  need_symbol(library, file, "cudnnCreate", api.create);
  need_symbol(library, file, "cudnnSetStream", api.set_stream);
  need_symbol(library, file, "cudnnGetErrorString", api.status_text);
  need_symbol(library, file, "cudnnGetLastErrorString", api.last_error);
  need_symbol(library, file, "cudnnBackendCreateDescriptor", api.make);
  need_symbol(library, file, "cudnnBackendDestroyDescriptor", api.destroy);
  need_symbol(library, file, "cudnnBackendSetAttribute", api.set);
  need_symbol(library, file, "cudnnBackendGetAttribute", api.get);
  need_symbol(library, file, "cudnnBackendFinalize", api.finalize);
  need_symbol(library, file, "cudnnBackendExecute", api.execute);
  return api;
}

const CudnnApi* find_cudnn() {
  static const CudnnApi* const found = []() -> const CudnnApi* {
    if (!env_bool("TANDEM_CUDNN", true)) return nullptr;
    try {
      return new CudnnApi(load_cudnn("libcudnn.so.9"));
    } catch (const UnavailableError&) {
      return nullptr;  // our own kernels serve
    }
  }();
  return found;
}

const CudnnApi& cudnn() {
  const CudnnApi* api = find_cudnn();
  if (!api) throw UnavailableError("libcudnn.so.9 is not there");
  return *api;
}

CudnnHandle& cudnn_handle(CudaDevice& device) {
  return per_device<CudnnHandle>(device, [](CudnnHandle& made) {
    check_dnn(cudnn().create(&made.handle), "starting cuDNN");
  });
}

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char why[512] = {};
  cudnn().last_error(why, sizeof(why));
  throw InternalError(std::string(what) + ": " + cudnn().status_text(status) +
                      (why[0] ? std::string(" (") + why + ")" : ""));
}

}  // namespace tandem::cuda
