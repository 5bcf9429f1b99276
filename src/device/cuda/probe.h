// Looks for GPUs through the driver alone: no context, no thread, no memory. Pure
// functions of the driver's table and the environment, so that every reason for absence
// can be tested without a GPU.
#pragma once

#include <string>
#include <vector>

#include "device/backend.h"
#include "device/cuda/driver.h"

namespace tandem::cuda {

/// The driver's interface version this plugin needs, 12.2, and the first driver that has
/// it.
inline constexpr int kNeededDriver = 12020;
inline constexpr const char* kNeededDriverName = "535";

struct FoundGpu {
  CUdevice device = 0;
  int arch = 0;  // compute capability * 10: 90
  ProbedDevice probed;
};

struct ProbeResult {
  std::vector<FoundGpu> gpus;
  std::string reason;  // why there is none, with a remedy
};

/// `visible` is CUDA_VISIBLE_DEVICES or null; `libraries` the first library that kernels
/// need and that cannot be loaded, in words, or empty.
ProbeResult probe_gpus(const DriverLoad& load, const char* visible,
                       const std::string& libraries);
/// Every GPU has at most `most_mib` MiB from now on; 0: what it has.
void cap_memory(std::vector<FoundGpu>& gpus, int64_t most_mib);

}  // namespace tandem::cuda
