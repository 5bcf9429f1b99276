#include "device/cpu/cpu_backend.h"

#include <fstream>

#include "device/cpu/cpu_device.h"
#include "device/cpu/host_memory.h"

namespace tandem {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string text; std::getline(info, text);) {
    const size_t colon = text.find(": ");
    if (text.starts_with("model name") && colon != std::string::npos) {
      return text.substr(colon + 2);
    }
  }
  return "CPU";
}

}  // namespace

std::vector<ProbedDevice> CpuBackend::probe() {
  return {{.details = {.device_name = cpu_name(), .compute_capability = {}},
           .memory_bytes = host_memory_bytes()}};
}

std::unique_ptr<Device> CpuBackend::open(const OpenRequest& request) {
  return std::make_unique<CpuDevice>(request);
}

}  // namespace tandem
