#include "device/emulated/emulated_backend.h"

#include <cstdlib>
#include <set>
#include <sstream>

#include "base/flags.h"
#include "device/emulated/emulated_device.h"
#include "device/out_of_memory.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr int64_t kMaxDevices = 64;
constexpr int64_t kMiB = 1 << 20;

int64_t checked(const char* name, int64_t fallback, int64_t least, int64_t most) {
  const int64_t value = env_int(name, fallback);
  if (value < least || value > most) {
    throw ValueError(std::string(name) + " must be between " + std::to_string(least) +
                     " and " + std::to_string(most) + ", got " + std::to_string(value));
  }
  return value;
}

/// How many of so many GPUs a list as in CUDA_VISIBLE_DEVICES lets a program see: those
/// before the first entry that is no number of one of them, as with NVIDIA's driver.
int64_t visible_of(int64_t made, const char* list) {
  if (!list) return made;
  std::set<int64_t> seen;
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    char* end = nullptr;
    const int64_t number = std::strtoll(entry.c_str(), &end, 10);
    if (end == entry.c_str() || *end || number < 0 || number >= made) break;
    if (!seen.insert(number).second) return 0;  // named twice: none
  }
  return static_cast<int64_t>(seen.size());
}

}  // namespace

std::vector<ProbedDevice> EmulatedBackend::probe() {
  const int64_t made = checked("TANDEM_EMULATE_GPUS", 0, 0, kMaxDevices);
  const int64_t count = visible_of(made, std::getenv("CUDA_VISIBLE_DEVICES"));
  hidden_ = made > 0 && count == 0;
  if (count == 0) return {};
  const int64_t memory =
      checked("TANDEM_EMULATED_MEMORY_MB", 4096, 1, int64_t{1} << 24) * kMiB;
  EmulatedLink::from_environment();  // complains now rather than at the first op
  emulated_speed();

  const std::lock_guard lock(mutex_);
  unreserved_.assign(static_cast<size_t>(count), memory);
  ProbedDevice device;
  device.details.device_name = "Emulated GPU";
  device.details.emulated = true;
  device.memory_bytes = memory;
  return std::vector<ProbedDevice>(static_cast<size_t>(count), device);
}

std::string EmulatedBackend::absence_reason() const {
  if (hidden_) {
    return "CUDA_VISIBLE_DEVICES hides the emulated GPUs; unset it, or name one in it";
  }
  return "TANDEM_EMULATE_GPUS is not set; set it to the number of emulated GPUs wanted";
}

std::unique_ptr<Device> EmulatedBackend::open(const OpenRequest& request) {
  const auto physical = static_cast<size_t>(request.physical);
  int64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    int64_t& left = unreserved_.at(physical);
    bytes = request.memory_limit > 0 ? request.memory_limit : left;
    if (bytes > left) {
      throw ResourceExhaustedError(
          "logical device " + request.info.type + ":" +
          std::to_string(request.info.index) + " asks for " + format_bytes(bytes) +
          ", but the emulated GPU has only " + format_bytes(left) +
          " left. Set TANDEM_EMULATED_MEMORY_MB higher or memory_limit lower.");
    }
    left -= bytes;
  }
  const auto give_back = [this, physical, bytes] {
    const std::lock_guard lock(mutex_);
    unreserved_[physical] += bytes;
  };
  try {
    return std::make_unique<EmulatedDevice>(
        EmulatedDevice::Options{.request = request,
                                .memory_bytes = static_cast<size_t>(bytes),
                                .link = EmulatedLink::from_environment(),
                                .speed = emulated_speed(),
                                .on_close = give_back});
  } catch (...) {
    give_back();
    throw;
  }
}

}  // namespace tandem
