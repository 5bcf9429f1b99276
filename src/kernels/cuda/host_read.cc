#include "kernels/cuda/host_read.h"

#include "device/cuda/cuda_device.h"

namespace tandem::cuda {

void wait_for_work(const StreamContext& stream) {
  check(driver().cuStreamSynchronize(static_cast<CUstream>(stream.native)),
        "waiting for a size");
}

void read_words(const StreamContext& stream, const int64_t* from, std::span<int64_t> to) {
  if (!to.empty()) {
    check(
        driver().cuMemcpyDtoHAsync(to.data(), reinterpret_cast<CUdeviceptr>(from),
                                   to.size_bytes(), static_cast<CUstream>(stream.native)),
        "reading a size");
  }
  wait_for_work(stream);
  static_cast<CudaDevice*>(stream.device)->throw_reported();
}

}  // namespace tandem::cuda
