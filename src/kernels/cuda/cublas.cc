#include "kernels/cuda/cublas.h"

#include <memory>

#include "device/cuda/library.h"
#include "kernels/cuda/per_device.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

constexpr const char* kLibrary = "libcublasLt.so.13";

template <class F>
void load(void* library, const char* name, F& function) {
  need_symbol(library, kLibrary, name, function);
}

}  // namespace

const CublasApi& cublas() {
  static const CublasApi* const loaded = [] {
    void* library = open_library(kLibrary);
    if (!library) throw UnavailableError(missing_library());
    auto api = std::make_unique<CublasApi>();
    load(library, "cublasLtCreate", api->create);
    load(library, "cublasLtMatmulDescCreate", api->desc_create);
    load(library, "cublasLtMatmulDescDestroy", api->desc_destroy);
    load(library, "cublasLtMatmulDescSetAttribute", api->desc_set);
    load(library, "cublasLtMatrixLayoutCreate", api->layout_create);
    load(library, "cublasLtMatrixLayoutDestroy", api->layout_destroy);
    load(library, "cublasLtMatrixLayoutSetAttribute", api->layout_set);
    load(library, "cublasLtMatmulPreferenceCreate", api->preference_create);
    load(library, "cublasLtMatmulPreferenceDestroy", api->preference_destroy);
    load(library, "cublasLtMatmulPreferenceSetAttribute", api->preference_set);
    load(library, "cublasLtMatmulAlgoGetHeuristic", api->heuristic);
    load(library, "cublasLtMatmul", api->matmul);
    load(library, "cublasLtGetStatusString", api->status_text);
    return api.release();
  }();
  return *loaded;
}

cublasLtHandle_t cublas_handle(CudaDevice& device) {
  struct Owned {
    cublasLtHandle_t handle = nullptr;
  };
  return per_device<Owned>(device,
                           [](Owned& made) {
                             check_blas(cublas().create(&made.handle),
                                        "starting cuBLASLt");
                           })
      .handle;
}

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw InternalError(std::string(what) + ": " + cublas().status_text(status));
}

}  // namespace tandem::cuda
