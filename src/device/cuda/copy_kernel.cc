#include "device/cuda/copy_kernel.h"

#include "tandem/error.h"

namespace tandem::cuda {

namespace {
MemoryKernels given;  // before any device exists
}

void set_memory_kernels(const MemoryKernels& kernels) { given = kernels; }

CopyKernel copy_kernel(CudaDevice& device, size_t bytes) {
  if (!given.copy) throw InternalError("the CUDA plugin has no kernel for copies");
  return given.copy(device, bytes);
}

FillKernel fill_kernel(CudaDevice& device, size_t bytes) {
  if (!given.fill) throw InternalError("the CUDA plugin has no kernel for fills");
  return given.fill(device, bytes);
}

}  // namespace tandem::cuda
