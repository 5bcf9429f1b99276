#include "device/physical.h"

#include <map>

#include "base/log.h"
#include "device/cpu/cpu_backend.h"
#include "device/emulated/emulated_backend.h"
#include "device/plugin.h"
#include "device/spec.h"
#include "tandem/error.h"

namespace tandem {
namespace {

class Prober {
 public:
  explicit Prober(PhysicalDevices& result) : result_(result) {}

  void add(Backend& backend, const std::vector<ProbedDevice>& found) {
    const std::string type = backend.type();
    int index = 0;
    for (const ProbedDevice& probed : found) {
      const int number = count_[type]++;
      add_device_type(type);
      result_.entries.push_back(
          {{"/physical_device:" + type + ":" + std::to_string(number), type},
           &backend,
           index++,
           probed});
    }
  }

  /// A plugin that fails must not take the others with it.
  void add_plugin(const Plugin& plugin) {
    try {
      const auto found = plugin.backend->probe();
      if (found.empty()) note(plugin, plugin.backend->absence_reason());
      add(*plugin.backend, found);
    } catch (const std::exception& error) {
      note(plugin, error.what());
      logging::warn(result_.absence_reasons.back());
    }
  }

  bool has(const std::string& type) const { return count_.count(type) > 0; }

 private:
  void note(const Plugin& plugin, const std::string& reason) {
    result_.absence_reasons.push_back("plugin " + plugin.path + " found no device: " +
                                      (reason.empty() ? "no reason given" : reason));
  }

  PhysicalDevices& result_;
  std::map<std::string, int> count_;
};

PhysicalDevices* probe_all() {
  static CpuBackend* const cpu = new CpuBackend;
  static EmulatedBackend* const emulated = new EmulatedBackend;

  auto result = std::make_unique<PhysicalDevices>();
  Prober prober(*result);
  const auto emulated_devices =
      emulated->probe();  // may throw: before anything is loaded
  prober.add(*cpu, cpu->probe());
  const LoadedPlugins& loaded = load_plugins();
  result->absence_reasons = loaded.problems;
  for (const Plugin& plugin : loaded.plugins) prober.add_plugin(plugin);
  if (loaded.plugins.empty() && loaded.problems.empty()) {
    result->absence_reasons.push_back(
        "no backend plugin (libtandem_*.so) beside the library or in TANDEM_PLUGIN_PATH; "
        "TANDEM_EMULATE_GPUS=1 gives an emulated GPU");
  }
  prober.add(*emulated, emulated_devices);
  return result.release();
}

}  // namespace

const PhysicalEntry* PhysicalDevices::find(const PhysicalDevice& device) const {
  for (const PhysicalEntry& entry : entries) {
    if (entry.device == device) return &entry;
  }
  return nullptr;
}

const PhysicalEntry& PhysicalDevices::at(const PhysicalDevice& device) const {
  if (const PhysicalEntry* entry = find(device)) return *entry;
  throw ValueError("Unrecognized device: " + describe(device));
}

const PhysicalDevices& physical_devices() {
  static const PhysicalDevices* const devices = probe_all();
  return *devices;
}

std::string describe(const PhysicalDevice& device) {
  return "PhysicalDevice(name='" + device.name + "', device_type='" + device.device_type +
         "')";
}

}  // namespace tandem
