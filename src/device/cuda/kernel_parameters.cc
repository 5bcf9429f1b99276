#include "device/cuda/kernel_parameters.h"

#include "device/cuda/driver.h"

namespace tandem::cuda {

std::vector<size_t> parameter_sizes(CUfunction function) {
  std::vector<size_t> sizes;
  size_t offset = 0, size = 0;
  while (driver().cuFuncGetParamInfo(function, sizes.size(), &offset, &size) ==
         CUDA_SUCCESS) {
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace tandem::cuda
