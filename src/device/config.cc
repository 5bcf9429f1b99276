#include <algorithm>

#include "base/flags.h"
#include "device/runtime_config.h"
#include "tandem/error.h"

namespace tandem {

Runtime::Config::PerDevice& Runtime::Config::of(const PhysicalDevice& device) {
  for (PerDevice& settings : devices) {
    if (settings.device == device) return settings;
  }
  devices.push_back({device, std::nullopt, std::nullopt});
  return devices.back();
}

std::vector<PhysicalDevice> Runtime::Config::visible_devices() const {
  if (visible) return *visible;
  std::vector<PhysicalDevice> all;
  for (const PhysicalEntry& entry : physical_devices().entries)
    all.push_back(entry.device);
  return all;
}

namespace config {
namespace {

Runtime::Config& state() { return Runtime::get().config(); }

thread_local CopyPolicy copy_policy = CopyPolicy::kSilent;

template <class D>
std::vector<D> of_type(std::vector<D> devices, std::string_view type) {
  if (!type.empty()) {
    std::erase_if(devices, [&](const D& device) { return device.device_type != type; });
  }
  return devices;
}

/// Sets `field` unless it has the value already; too late once devices exist.
template <class T>
void change(T& field, T value, const char* too_late) {
  if (field == value) return;
  if (Runtime::get().initialized()) throw RuntimeStateError(too_late);
  field = std::move(value);
}

void set_threads(int Runtime::Config::* field, int threads, const std::string& name) {
  if (threads < 0) {
    throw ValueError(name + " op parallelism: " + std::to_string(threads) +
                     " threads are not possible. Use 0 for one thread per core.");
  }
  std::lock_guard lock(state().mutex);
  change(state().*field, threads,
         (name + " op parallelism cannot be modified after initialization.").c_str());
}

int get_threads(int Runtime::Config::* field) {
  std::lock_guard lock(state().mutex);
  return state().*field;
}

void check_logical(const PhysicalDevice& device,
                   const std::vector<LogicalDeviceConfiguration>& logical) {
  const bool cpu = device.device_type == "CPU";
  if (!cpu && device.device_type != "GPU") {
    throw ValueError("Virtual devices are not supported for " + device.device_type);
  }
  for (const auto& one : logical) {
    if (cpu && one.memory_limit && strict_tf()) {
      throw ValueError(
          "Setting memory limit on CPU virtual devices is currently not supported");
    }
    if (cpu && one.priority) {
      throw ValueError(
          "Setting experimental_priority on CPU virtual devices is currently not "
          "supported");
    }
    if (!cpu && !one.memory_limit) {
      throw ValueError("Setting memory limit is required for GPU virtual devices");
    }
    if (one.memory_limit && !(*one.memory_limit > 0)) {
      throw ValueError("memory_limit must be more than 0 MiB, got " +
                       std::to_string(*one.memory_limit));
    }
  }
}

}  // namespace

std::vector<PhysicalDevice> list_physical_devices(std::string_view type) {
  std::vector<PhysicalDevice> all;
  for (const PhysicalEntry& entry : physical_devices().entries)
    all.push_back(entry.device);
  return of_type(std::move(all), type);
}

std::vector<LogicalDevice> list_logical_devices(std::string_view type) {
  std::vector<LogicalDevice> all;
  for (Device* device : Runtime::get().devices()) {
    all.push_back({"/device:" + device->short_name(), device->type()});
  }
  return of_type(std::move(all), type);
}

std::vector<PhysicalDevice> get_visible_devices(std::string_view type) {
  std::lock_guard lock(state().mutex);
  return of_type(state().visible_devices(), type);
}

void set_visible_devices(const std::vector<PhysicalDevice>& devices,
                         std::string_view type) {
  const PhysicalDevices& physical = physical_devices();
  for (const PhysicalDevice& device : devices) {
    physical.at(device);
    if (!type.empty() && device.device_type != type) {
      throw ValueError("Unrecognized device: " + describe(device));
    }
  }
  std::lock_guard lock(state().mutex);
  auto before = state().visible_devices();
  std::vector<PhysicalDevice> after;
  if (!type.empty()) {
    after = before;
    std::erase_if(after, [&](const auto& device) { return device.device_type == type; });
  }
  after.insert(after.end(), devices.begin(), devices.end());
  change(before, std::move(after),
         "Visible devices cannot be modified after being initialized");
  state().visible = std::move(before);
}

DeviceDetails get_device_details(const PhysicalDevice& device) {
  return physical_devices().at(device).probed.details;
}

std::optional<bool> get_memory_growth(const PhysicalDevice& device) {
  physical_devices().at(device);
  std::lock_guard lock(state().mutex);
  return state().of(device).memory_growth;
}

void set_memory_growth(const PhysicalDevice& device, bool enable) {
  physical_devices().at(device);
  std::lock_guard lock(state().mutex);
  auto& settings = state().of(device);
  if (settings.logical && strict_tf()) {
    throw ValueError(
        "Cannot set memory growth on device when virtual devices configured");
  }
  if (device.device_type == "CPU") {
    throw ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices");
  }
  change(settings.memory_growth, std::optional(enable),
         "Physical devices cannot be modified after being initialized");
}

std::optional<std::vector<LogicalDeviceConfiguration>> get_logical_device_configuration(
    const PhysicalDevice& device) {
  physical_devices().at(device);
  std::lock_guard lock(state().mutex);
  return state().of(device).logical;
}

void set_logical_device_configuration(
    const PhysicalDevice& device,
    const std::vector<LogicalDeviceConfiguration>& logical) {
  physical_devices().at(device);
  check_logical(device, logical);
  std::lock_guard lock(state().mutex);
  change(state().of(device).logical, std::optional(logical),
         "Virtual devices cannot be modified after being initialized");
}

int get_intra_op_parallelism_threads() {
  return get_threads(&Runtime::Config::intra_op_threads);
}
void set_intra_op_parallelism_threads(int threads) {
  set_threads(&Runtime::Config::intra_op_threads, threads, "Intra");
}
int get_inter_op_parallelism_threads() {
  return get_threads(&Runtime::Config::inter_op_threads);
}
void set_inter_op_parallelism_threads(int threads) {
  set_threads(&Runtime::Config::inter_op_threads, threads, "Inter");
}

bool get_soft_device_placement() {
  return state().soft_placement.load(std::memory_order_relaxed);
}
void set_soft_device_placement(bool enabled) {
  state().soft_placement.store(enabled, std::memory_order_relaxed);
}
bool get_log_device_placement() {
  return state().log_placement.load(std::memory_order_relaxed);
}
void set_log_device_placement(bool enabled) {
  state().log_placement.store(enabled, std::memory_order_relaxed);
}

CopyPolicy get_device_policy() { return copy_policy; }
void set_device_policy(CopyPolicy policy) { copy_policy = policy; }

CopyPolicy copy_policy_from_name(std::string_view name) {
  if (name == "silent") return CopyPolicy::kSilent;
  if (name == "silent_for_int32") return CopyPolicy::kSilentForInt32;
  if (name == "warn") return CopyPolicy::kWarn;
  if (name == "explicit") return CopyPolicy::kExplicit;
  throw ValueError("Invalid argument `device_policy`: '" + std::string(name) +
                   "'. Use 'silent', 'silent_for_int32', 'warn' or 'explicit'.");
}

void enable_op_determinism() {
  state().deterministic.store(true, std::memory_order_relaxed);
}
bool op_determinism_enabled() {
  return state().deterministic.load(std::memory_order_relaxed);
}

}  // namespace config
}  // namespace tandem
