// Devices: what there is, how it is configured, and scopes that say where ops run.
// Rules and error texts are TensorFlow's (tf.config, tf.device). Configuration calls may
// come from any thread; scopes are thread-local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// A device of the machine, before any configuration: `/physical_device:GPU:0`.
struct PhysicalDevice {
  std::string name;
  std::string device_type;  // "CPU" or "GPU"
  friend bool operator==(const PhysicalDevice&, const PhysicalDevice&) = default;
};

/// A device that ops can run on: `/device:GPU:0`.
struct LogicalDevice {
  std::string name;
  std::string device_type;
  friend bool operator==(const LogicalDevice&, const LogicalDevice&) = default;
};

/// How a physical device is cut into logical ones.
struct LogicalDeviceConfiguration {
  std::optional<double> memory_limit;  // MiB
  std::optional<int> priority;
  friend bool operator==(const LogicalDeviceConfiguration&,
                         const LogicalDeviceConfiguration&) = default;
};

/// Bytes in use now and at most since the last reset.
struct MemoryInfo {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t limit = 0;  // 0: none
};

/// What happens when an op's input lives on another device.
enum class CopyPolicy { kSilent, kSilentForInt32, kWarn, kExplicit };

namespace config {

std::vector<PhysicalDevice> list_physical_devices(std::string_view type = {});
std::vector<LogicalDevice> list_logical_devices(std::string_view type = {});
std::vector<PhysicalDevice> get_visible_devices(std::string_view type = {});
void set_visible_devices(const std::vector<PhysicalDevice>& devices,
                         std::string_view type = {});
/// Facts about a physical device: name, compute capability, whether it is emulated.
struct DeviceDetails {
  std::string device_name;
  std::string compute_capability;
  bool emulated = false;
};
DeviceDetails get_device_details(const PhysicalDevice& device);

/// Whether the device's memory grows on demand; nullopt until set.
std::optional<bool> get_memory_growth(const PhysicalDevice& device);
void set_memory_growth(const PhysicalDevice& device, bool enable);
std::optional<std::vector<LogicalDeviceConfiguration>> get_logical_device_configuration(
    const PhysicalDevice& device);
void set_logical_device_configuration(
    const PhysicalDevice& device, const std::vector<LogicalDeviceConfiguration>& logical);

int get_intra_op_parallelism_threads();
void set_intra_op_parallelism_threads(int threads);
int get_inter_op_parallelism_threads();
void set_inter_op_parallelism_threads(int threads);

bool get_soft_device_placement();
void set_soft_device_placement(bool enabled);
bool get_log_device_placement();
void set_log_device_placement(bool enabled);
/// The copy policy of this thread.
CopyPolicy get_device_policy();
void set_device_policy(CopyPolicy policy);
/// "silent", "silent_for_int32", "warn", "explicit"; else ValueError.
CopyPolicy copy_policy_from_name(std::string_view name);

/// Results do not depend on thread count or scheduling; slower kernels may be chosen.
void enable_op_determinism();
bool op_determinism_enabled();

MemoryInfo get_memory_info(std::string_view device);
int64_t get_memory_usage(std::string_view device);
void reset_memory_stats(std::string_view device);

}  // namespace config

/// Number of logical devices of that type.
int device_count(std::string_view type);
/// Waits until all work given to the device (or to all devices) is done. Throws the first
/// error of that work which nobody has seen yet.
void synchronize(std::string_view device = {});
/// Gives cached memory of the device (or of all) back to the system.
void trim_memory(std::string_view device = {});

/// Copies between devices since the start of the process.
struct CopyStats {
  int64_t count = 0;
  int64_t bytes = 0;
};
CopyStats copy_stats();

/// Ops created on this thread while the scope lives run on `device`, as under tf.device:
/// an inner scope is merged over the outer one field by field; "" or "/" changes nothing.
class DeviceScope {
 public:
  /// Throws ValueError for a string that is not a device specification.
  explicit DeviceScope(std::string_view device);
  /// tf.device(None): no constraint.
  explicit DeviceScope(std::nullopt_t);
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope();

 private:
  struct State;
  State* state_;
};

}  // namespace tandem
