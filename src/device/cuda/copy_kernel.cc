#include "device/cuda/copy_kernel.h"

#include "tandem/error.h"

namespace tandem::cuda {

namespace {
MemoryKernels given_kernels;  // before any device exists
}

void set_memory_kernels(const MemoryKernels& kernels) { given_kernels = kernels; }

CopyKernel copy_kernel(CudaDevice& device, size_t bytes) {
  if (!given_kernels.copy)
    throw InternalError("the CUDA plugin has no kernel for copies");
  return given_kernels.copy(device, bytes);
}

FillKernel fill_kernel(CudaDevice& device, size_t bytes) {
  if (!given_kernels.fill) throw InternalError("the CUDA plugin has no kernel for fills");
  return given_kernels.fill(device, bytes);
}

}  // namespace tandem::cuda
