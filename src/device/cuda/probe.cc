#include "device/cuda/probe.h"

#include <algorithm>

namespace tandem::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int attribute(const DriverApi& api, CUdevice_attribute what, CUdevice device) {
  int value = 0;
  return api.cuDeviceGetAttribute(&value, what, device) == CUDA_SUCCESS ? value : 0;
}

std::string hidden(const char* visible) {
  return "CUDA_VISIBLE_DEVICES=\"" + std::string(visible) +
         "\" hides every GPU from this process; unset it, or name a GPU in it";
}

}  // namespace

ProbeResult probe_gpus(const DriverLoad& load, const char* visible,
                       const std::string& libraries) {
  ProbeResult result;
  if (!load.api) {
    result.reason = load.problem;
    return result;
  }
  const DriverApi& api = *load.api;
  const CUresult init = api.cuInit(0);
  int version = 0;
  if (api.cuDriverGetVersion(&version) == CUDA_SUCCESS && version < kNeededDriver) {
    result.reason = "the NVIDIA driver is too old: it offers CUDA " +
                    version_text(version) + " and CUDA " + version_text(kNeededDriver) +
                    " is needed; install driver " + kNeededDriverName + " or newer";
    return result;
  }
  int count = 0;
  const CUresult counted = init == CUDA_SUCCESS ? api.cuDeviceGetCount(&count) : init;
  if (counted == CUDA_ERROR_NO_DEVICE || (counted == CUDA_SUCCESS && count == 0)) {
    result.reason = visible ? hidden(visible)
                            : "the NVIDIA driver found no GPU; check that the machine "
                              "has one and that nvidia-smi lists it";
    return result;
  }
  if (counted != CUDA_SUCCESS) {
    result.reason =
        "the NVIDIA driver does not start: " + describe(counted) + "; check nvidia-smi";
    return result;
  }
  if (!libraries.empty()) {
    result.reason = libraries;
    return result;
  }
  for (int i = 0; i < count; ++i) {
    FoundGpu gpu;
    char name[256] = "";
    size_t bytes = 0;
    if (api.cuDeviceGet(&gpu.device, i) != CUDA_SUCCESS) continue;
    api.cuDeviceGetName(name, sizeof(name), gpu.device);
    api.cuDeviceTotalMem(&bytes, gpu.device);
    const int major =
        attribute(api, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu.device);
    const int minor =
        attribute(api, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu.device);
    gpu.arch = major * 10 + minor;
    gpu.probed.details.device_name = name;
    gpu.probed.details.compute_capability =
        std::to_string(major) + "." + std::to_string(minor);
    gpu.probed.memory_bytes = static_cast<int64_t>(bytes);
    // CUDA 13 generates code from compute capability 7.5 on, and kernels are tried from
    // there on.
    if (gpu.arch < 75) {
      result.reason = std::string(name) + " has compute capability " +
                      gpu.probed.details.compute_capability +
                      ", and Tandem needs 7.5 or newer (GTX 16, RTX 20, T4)";
      continue;
    }
    result.gpus.push_back(std::move(gpu));
  }
  if (!result.gpus.empty()) result.reason.clear();
  return result;
}

void cap_memory(std::vector<FoundGpu>& gpus, int64_t most_mib) {
  if (most_mib <= 0) return;
  for (FoundGpu& gpu : gpus) {
    gpu.probed.memory_bytes = std::min(gpu.probed.memory_bytes, most_mib << 20);
  }
}

}  // namespace tandem::cuda
