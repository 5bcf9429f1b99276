// DeviceSpec: a partly filled device name, its grammar and how scopes merge (TensorFlow's
// DeviceSpec). A plain value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem {

struct DeviceSpec {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // upper case: "CPU", "GPU"
  std::optional<int> index;

  /// Accepts what tf.device accepts; throws ValueError with TensorFlow's words otherwise.
  static DeviceSpec parse(std::string_view text);
  /// `inner` over this, field by field. The index is dropped when the type changes,
  /// unless TANDEM_STRICT_TF=1.
  DeviceSpec merged(const DeviceSpec& inner) const;
  bool empty() const { return !job && !replica && !task && !type && !index; }
  /// "/job:localhost/replica:0/task:0/device:GPU:0", leaving out what is not set.
  std::string str() const;
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// Makes "/NPU:0" a device name, as "/device:NPU:0" always is. Called for each type of
/// physical device that is found; any thread.
void add_device_type(const std::string& type);

}  // namespace tandem
