// Backend: a kind of device that can be looked for and opened. The CPU and the emulated
// GPU are built in; others are shared libraries (`libtandem_*.so`) found beside
// libtandem.so or in TANDEM_PLUGIN_PATH, which export `tandem_backend` and, for kernels,
// `tandem_register_kernels` (op/kernel.h). Adding one touches no file outside its folder.
// Probing must not create contexts or threads and must not take device memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/core_set.h"
#include "device/device.h"
#include "tandem/device.h"

namespace tandem {

inline constexpr int kBackendAbi = 1;

struct ProbedDevice {
  config::DeviceDetails details;
  int64_t memory_bytes = 0;
};

/// How one logical device is to be opened.
struct OpenRequest {
  int physical = 0;          // index among what probe() returned
  Device::Info info;         // platform and memory flags are filled in by the backend
  int64_t memory_limit = 0;  // bytes, 0: none
  bool memory_growth = true;
  CoreSet cores;    // host cores for its threads and kernels; empty: not its own
  int threads = 0;  // kernels that run on host threads use this many; 0: one a core
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// "CPU", "GPU".
  virtual std::string type() const = 0;
  virtual std::vector<ProbedDevice> probe() = 0;
  /// Why probe() found nothing, one line with a remedy; empty when it found something.
  virtual std::string absence_reason() const { return {}; }
  virtual std::unique_ptr<Device> open(const OpenRequest& request) = 0;
};

/// Signature of the exported C symbol `tandem_backend`; null when `abi` is not supported.
using BackendEntry = Backend* (*)(int abi);

}  // namespace tandem
