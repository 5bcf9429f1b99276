#include "kernels/cuda/cublas.h"

#include <memory>

#include "device/cuda/cuda_release.h"
#include "device/cuda/library.h"
#include "kernels/cuda/per_device.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

template <class F>
void load_cublaslt(void* library, const char* name, F& function) {
  need_symbol(library, library_file(Library::kCublasLt), name, function);
}

}  // namespace

const CublasApi& cublas() {
  static const CublasApi* const loaded = [] {
    void* library = open_library(Library::kCublasLt);
    if (!library) throw UnavailableError(missing_library());
    auto api = std::make_unique<CublasApi>();
    load_cublaslt(library, "cublasLtCreate", api->create);
    load_cublaslt(library, "cublasLtMatmulDescCreate", api->desc_create);
    load_cublaslt(library, "cublasLtMatmulDescDestroy", api->desc_destroy);
    load_cublaslt(library, "cublasLtMatmulDescSetAttribute", api->desc_set);
    load_cublaslt(library, "cublasLtMatrixLayoutCreate", api->layout_create);
    load_cublaslt(library, "cublasLtMatrixLayoutDestroy", api->layout_destroy);
    load_cublaslt(library, "cublasLtMatrixLayoutSetAttribute", api->layout_set);
    load_cublaslt(library, "cublasLtMatmulPreferenceCreate", api->preference_create);
    load_cublaslt(library, "cublasLtMatmulPreferenceDestroy", api->preference_destroy);
    load_cublaslt(library, "cublasLtMatmulPreferenceSetAttribute", api->preference_set);
    load_cublaslt(library, "cublasLtMatmulAlgoGetHeuristic", api->heuristic);
    load_cublaslt(library, "cublasLtMatmul", api->matmul);
    load_cublaslt(library, "cublasLtGetStatusString", api->status_text);
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
