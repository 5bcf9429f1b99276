// The kernel that copies inside a GPU within a recording, given by the kernels of the
// plugin when they are registered: among kernels a kernel starts sooner than a copy of
// the driver, and its addresses can be changed afterwards.
#pragma once

#include <cuda.h>

namespace tandem::cuda {

class CudaDevice;

/// A launch of (to, from, bytes).
struct CopyKernel {
  CUfunction function = nullptr;
  unsigned blocks = 1, threads = 256;
};
/// For so many bytes; compiles it the first time.
using FindCopyKernel = CopyKernel (*)(CudaDevice& device, size_t bytes);

void set_copy_kernel(FindCopyKernel find);
CopyKernel copy_kernel(CudaDevice& device, size_t bytes);

}  // namespace tandem::cuda
