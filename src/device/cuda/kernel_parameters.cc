#include "device/cuda/kernel_parameters.h"

#include "device/cuda/driver.h"
#include "device/cuda/library.h"

namespace tandem::cuda {

namespace {

using Ask = decltype(&::cuFuncGetParamInfo);

// The driver is loaded: this only finds it again.
Ask find() {
  Ask ask = nullptr;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw UnavailableError(load_driver().problem);
  need_symbol(library, "libcuda.so.1", "cuFuncGetParamInfo", ask);
  return ask;
}

}  // namespace

std::vector<size_t> parameter_sizes(CUfunction function) {
  static const Ask ask = find();
  std::vector<size_t> sizes;
  size_t offset = 0, size = 0;
  while (ask(function, sizes.size(), &offset, &size) == CUDA_SUCCESS) {
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace tandem::cuda
