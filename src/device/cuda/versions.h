// Which of NVIDIA's parts are there, in which versions, and which are needed: what
// `tandem doctor` prints about a GPU. Loads libraries, opens no context. Any thread.
#pragma once

#include <string>
#include <vector>

#include "device/cuda/driver.h"

namespace tandem::cuda {

struct PartVersion {
  std::string name;         // "driver", "NVRTC"
  std::string found;        // "13.2"; empty: not found
  std::string where;        // the file, or empty
  std::string needed;       // "13 or newer"
  std::string slower = {};  // than with a newer one: "; …", or empty
};

PartVersion driver_part(const DriverLoad& load);
PartVersion compiler_part();     // NVRTC
PartVersion product_part();      // cuBLASLt
PartVersion convolution_part();  // cuDNN
/// The driver, the compiler of kernels, cuBLASLt, cuBLAS, cuSOLVER, cuFFT and cuDNN, in
/// this order.
std::vector<PartVersion> part_versions(const DriverLoad& load);
/// The same for people, a line each.
std::string describe_parts(const std::vector<PartVersion>& parts);

}  // namespace tandem::cuda
