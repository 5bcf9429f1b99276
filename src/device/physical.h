// The physical devices of the machine: backends are loaded and probed once, when somebody
// first asks. Real devices come before emulated ones of the same type. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/backend.h"
#include "tandem/device.h"

namespace tandem {

struct PhysicalEntry {
  PhysicalDevice device;
  Backend* backend = nullptr;
  int index = 0;  // among the backend's devices
  ProbedDevice probed;
};

struct PhysicalDevices {
  std::vector<PhysicalEntry> entries;        // CPU first
  std::vector<std::string> absence_reasons;  // one line each

  /// Null when it is not one of them.
  const PhysicalEntry* find(const PhysicalDevice& device) const;
  /// Throws ValueError ("Unrecognized device: …") when it is not one of them.
  const PhysicalEntry& at(const PhysicalDevice& device) const;
};

/// Throws ValueError when an environment variable that decides about them is wrong; a
/// later call tries again.
const PhysicalDevices& physical_devices();

/// Python's repr: PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU').
std::string describe(const PhysicalDevice& device);

}  // namespace tandem
