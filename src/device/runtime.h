// The runtime object: configuration before initialisation, logical devices after it
// (TensorFlow's context). One per process. Any thread; initialisation happens once, on
// the first op, scope entry or list_logical_devices.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/backend.h"
#include "device/device.h"
#include "device/spec.h"

namespace tandem {

class Runtime {
 public:
  static Runtime& get();

  /// Opens the logical devices if that has not happened. Cheap when it has.
  void initialize() {
    if (!initialized_.load(std::memory_order_acquire)) initialize_slow();
  }
  bool initialized() const { return initialized_.load(std::memory_order_acquire); }

  /// All logical devices by ordinal; CPU:0 first. Initialises.
  std::span<Device* const> devices();
  Device& cpu();
  /// By priority: what an op without constraints is offered first to last.
  std::span<Device* const> by_priority();
  /// The device that exactly fits (type and index set), or null.
  Device* find(std::string_view type, int index);
  /// The device named by the user ("GPU:0", "/device:GPU:0", …); throws ValueError when
  /// absent.
  Device& named(std::string_view name);

  struct Config;
  /// Configuration state behind tandem::config, guarded by its own lock.
  Config& config();

  /// The end of the process joins the devices' threads before it destroys static objects
  /// that exist now. Called again when code that makes such objects has run for the first
  /// time.
  void join_threads_before_statics();

  /// Names and reasons of backends that found no device, for `tandem doctor`.
  std::vector<std::string> absence_reasons();

 private:
  Runtime();
  void initialize_slow();
  struct State;
  State* state_;
  std::atomic<bool> initialized_{false};
};

/// Full names of all devices, comma separated, as error messages list them.
std::string device_list();

}  // namespace tandem
