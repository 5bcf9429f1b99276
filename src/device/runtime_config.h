// The state behind tandem::config. Settings that shape devices are fixed once the runtime
// is initialised and guarded by the mutex; switches may change at any time and are
// atomic.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "device/physical.h"
#include "device/runtime.h"
#include "tandem/device.h"

namespace tandem {

struct Runtime::Config {
  struct PerDevice {
    PhysicalDevice device;
    std::optional<bool> memory_growth;
    std::optional<std::vector<LogicalDeviceConfiguration>> logical;
  };

  std::mutex mutex;  // held while the runtime is being initialised
  std::optional<std::vector<PhysicalDevice>> visible;  // unset: all
  std::vector<PerDevice> devices;                      // those with a setting
  int intra_op_threads = 0;                            // 0: one per core
  int inter_op_threads = 0;

  std::atomic<bool> soft_placement{true};
  std::atomic<bool> log_placement{false};
  std::atomic<bool> deterministic{false};

  /// The settings of a device. Call with the mutex held.
  PerDevice& of(const PhysicalDevice& device);
  std::vector<PhysicalDevice> visible_devices() const;
};

}  // namespace tandem
