#include "kernels/cuda/measured_on.h"

#include <fmt/format.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/versions.h"
#include "kernels/cuda/per_device.h"

namespace tandem::cuda {

std::string measured_on(Device& device, const std::string& kernel) {
  struct Text {
    std::string own;
  };
  const Text& text = per_device<Text>(static_cast<CudaDevice&>(device), [&](Text& made) {
    char model[256] = {};
    check(driver().cuDeviceGetName(model, sizeof(model) - 1,
                                   static_cast<CudaDevice&>(device).native()),
          "asking for the GPU's name");
    made.own = fmt::format("{}, driver {}, NVRTC {}, cuBLASLt {}", model,
                           driver_part(load_driver()).found, compiler_part().found,
                           product_part().found);
  });
  if (kernel.find("cudnn") == std::string::npos) return text.own;
  // Loaded by now: it was asked whether it has such a kernel.
  static const std::string cudnn = convolution_part().found;
  return text.own + ", cuDNN " + cudnn;
}

}  // namespace tandem::cuda
