// The backend that libtandem_cuda.so exports.
#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "base/flags.h"
#include "device/cuda/activity.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_release.h"
#include "device/cuda/kernel_compiler.h"
#include "device/cuda/nvtx.h"
#include "device/cuda/probe.h"
#include "device/cuda/versions.h"
#include "device/out_of_memory.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

class CudaBackend final : public Backend {
 public:
  std::string type() const override { return "GPU"; }

  std::vector<ProbedDevice> probe() override {
    if (!env_bool("TANDEM_CUDA", true)) {
      const std::lock_guard lock(mutex_);
      reason_ = "TANDEM_CUDA=0 switches NVIDIA GPUs off; unset it";
      return {};
    }
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const DriverLoad& load = load_driver();
    ProbeResult result = probe_gpus(load, visible, "");
    // The libraries are large: looked for only where there is a GPU to run them.
    if (!result.gpus.empty()) result = probe_gpus(load, visible, missing_library());
    cap_memory(result.gpus, env_int("TANDEM_GPU_MEMORY_MB", 0));
    const std::lock_guard lock(mutex_);
    gpus_ = std::move(result.gpus);
    reason_ = std::move(result.reason);
    unreserved_.clear();
    std::vector<ProbedDevice> found;
    for (const FoundGpu& gpu : gpus_) {
      found.push_back(gpu.probed);
      unreserved_.push_back(gpu.probed.memory_bytes);
    }
    return found;
  }

  std::string absence_reason() const override {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

  std::unique_ptr<Device> open(const OpenRequest& request) override {
    const std::lock_guard lock(mutex_);
    const auto physical = static_cast<size_t>(request.physical);
    const FoundGpu& gpu = gpus_.at(physical);
    int64_t& left = unreserved_[physical];
    if (request.memory_limit > left) {
      throw ResourceExhaustedError("logical device " + request.info.type + ":" +
                                   std::to_string(request.info.index) + " asks for " +
                                   format_bytes(request.memory_limit) +
                                   ", but the GPU has only " + format_bytes(left) +
                                   " left. Set memory_limit lower.");
    }
    left -= request.memory_limit;
    return std::make_unique<CudaDevice>(
        CudaDevice::Options{.request = request,
                            .device = gpu.device,
                            .arch = gpu.arch,
                            .memory_bytes = gpu.probed.memory_bytes});
  }

 private:
  mutable std::mutex mutex_;
  std::vector<FoundGpu> gpus_;
  std::vector<int64_t> unreserved_;
  std::string reason_;
};

}  // namespace
}  // namespace tandem::cuda

extern "C" __attribute__((visibility("default"))) tandem::Backend* tandem_backend(
    int abi) {
  if (abi != tandem::kBackendAbi) return nullptr;
  static auto* const backend = [] {
    tandem::cuda::start_nvtx();
    tandem::recorder::add_source(&tandem::cuda::ActivityRecording::get());
    return new tandem::cuda::CudaBackend;
  }();
  return backend;
}

/// What `tandem doctor` prints about the parts that the backend is made of.
extern "C" __attribute__((visibility("default"))) const char* tandem_describe_backend() {
  using namespace tandem::cuda;
  static const auto* const text = [] {
    const DriverLoad& load = load_driver();
    std::vector<int> archs;
    for (const FoundGpu& gpu :
         probe_gpus(load, std::getenv("CUDA_VISIBLE_DEVICES"), "").gpus) {
      if (std::find(archs.begin(), archs.end(), gpu.arch) == archs.end()) {
        archs.push_back(gpu.arch);
      }
    }
    if (archs.empty()) archs = {75, 80, 86, 89, 90};
    return new std::string(describe_parts(part_versions(load)) + describe_kernels(archs));
  }();
  return text->c_str();
}
