// cuBLASLt as a table of functions, loaded when first asked for; one handle per GPU. Any
// thread.
#pragma once

#include <cublasLt.h>

#include "device/cuda/cuda_device.h"

namespace tandem::cuda {

struct CublasApi {
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
  decltype(&::cublasLtGetStatusString) status_text = nullptr;
};

/// Throws UnavailableError when the library or one of its functions is missing.
const CublasApi& cublas();
/// Made at the first call for a device; lives as long as the process.
cublasLtHandle_t cublas_handle(CudaDevice& device);
/// Throws InternalError unless it is a success.
void check_blas(cublasStatus_t status, const char* what);

}  // namespace tandem::cuda
