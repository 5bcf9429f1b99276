// cuDNN 9 as a table of functions, loaded when first asked for; one handle per GPU. It is
// no library that Tandem needs: where it is missing, kernels of our own serve. Any
// thread.
#pragma once

#include <mutex>
#include <string>

#include <cudnn_graph.h>

#include "device/cuda/cuda_device.h"

namespace tandem::cuda {

struct CudnnApi {
  size_t version = 0;  // 91900: 9.19.0
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnGetErrorString) status_text = nullptr;
  decltype(&::cudnnGetLastErrorString) last_error = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) make = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroy = nullptr;
  decltype(&::cudnnBackendSetAttribute) set = nullptr;
  decltype(&::cudnnBackendGetAttribute) get = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;
};

/// Loads the functions from the library `file`; throws UnavailableError when it cannot be
/// loaded or lacks one.
CudnnApi load_cudnn(const std::string& file);
/// Null where there is no cuDNN 9, and where TANDEM_CUDNN=0.
const CudnnApi* find_cudnn();
/// Only after find_cudnn() has found it.
const CudnnApi& cudnn();

/// A handle and who may use it: it carries the stream that work goes to.
struct CudnnHandle {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
};
/// Made at the first call for a device; lives as long as the process.
CudnnHandle& cudnn_handle(CudaDevice& device);

/// Throws InternalError with the library's own words unless it is a success.
void check_dnn(cudnnStatus_t status, const char* what);

}  // namespace tandem::cuda
