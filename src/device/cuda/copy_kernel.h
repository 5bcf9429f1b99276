// The kernels that copy and fill inside a GPU within a recording, given by the kernels of
// the plugin when it is loaded: among kernels a kernel starts sooner than a copy or a
// fill of the driver, its addresses can be changed afterwards, and a graph of kernels
// alone is launched faster (plain_nodes.h).
#pragma once

#include <cstddef>

#include <cuda.h>

namespace tandem::cuda {

class CudaDevice;

struct MemoryKernel {
  CUfunction function = nullptr;
  unsigned blocks = 1, threads = 256;
};
/// A launch of (to, from, bytes).
using CopyKernel = MemoryKernel;
/// A launch of (to, pitch, pattern, bytes of a row, rows): the four bytes of the pattern
/// over and over, from the beginning of every row.
using FillKernel = MemoryKernel;

/// For so many bytes; they compile it the first time.
struct MemoryKernels {
  CopyKernel (*copy)(CudaDevice& device, size_t bytes) = nullptr;
  FillKernel (*fill)(CudaDevice& device, size_t bytes) = nullptr;
};
void set_memory_kernels(const MemoryKernels& kernels);

CopyKernel copy_kernel(CudaDevice& device, size_t bytes);
FillKernel fill_kernel(CudaDevice& device, size_t bytes);

}  // namespace tandem::cuda
