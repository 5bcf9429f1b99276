// The kernels of copies and fills inside recordings (device/cuda/copy_kernel.h).
#include "device/cuda/copy_kernel.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string copy_text() {
  return std::string(device_text("prelude.cuh")) + std::string(device_text("copy.cuh"));
}

namespace {

CopyKernel find_copy(CudaDevice& device, size_t bytes) {
  const Function f = find_function(&device, "copy", copy_text(), "copy");
  return {f.function, grid_for(f, static_cast<int64_t>(bytes / 16 + 1)).x, 256};
}

FillKernel find_fill(CudaDevice& device, size_t bytes) {
  const Function f = find_function(&device, "copy", copy_text(), "fill");
  return {f.function, grid_for(f, static_cast<int64_t>(bytes / 16 + 1)).x, 256};
}

// When the plugin is loaded: a step of nothing but copies asks for no other kernel.
const bool kernels_known = (set_memory_kernels({find_copy, find_fill}), true);

}  // namespace

}  // namespace tandem::cuda
