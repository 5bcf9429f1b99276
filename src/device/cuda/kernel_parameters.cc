#include "device/cuda/kernel_parameters.h"

#include "device/cuda/driver.h"

namespace tandem::cuda {

std::vector<size_t> parameter_sizes(CUfunction function) {
  std::vector<size_t> sizes;
  size_t offset = 0, size = 0;
  for (;;) {
    const CUresult result =
        driver().cuFuncGetParamInfo(function, sizes.size(), &offset, &size);
    if (result == CUDA_ERROR_NOT_SUPPORTED)
      check(result, "looking at a kernel's arguments");
    if (result != CUDA_SUCCESS) return sizes;
    sizes.push_back(size);
  }
}

}  // namespace tandem::cuda
