// Device: a place that holds memory and runs kernels. Logical devices are made once, when
// the runtime is initialised, and live as long as the process; pointers to them never
// dangle. A device has three streams (compute, copy in, copy out) and one allocator.
#pragma once

#include <cstdint>
#include <string>

#include "base/parallel.h"
#include "device/allocator.h"
#include "device/stream.h"

namespace tandem {

/// Whose kernels a device runs. CPU and emulated GPUs run the host's; plugins register
/// theirs.
using Platform = uint8_t;
inline constexpr Platform kHostPlatform = 0;
/// The number for a platform name, given out on first use ("host" is 0). Any thread.
Platform platform_id(const std::string& name);
const std::string& platform_name(Platform platform);

class Device {
 public:
  struct Info {
    std::string type;  // "CPU", "GPU"
    int index = 0;     // among logical devices of the type
    int ordinal = 0;   // dense over all logical devices; CPU:0 is 0
    int priority = 0;  // higher is preferred when nobody says where
    Platform platform = kHostPlatform;
    bool host_memory = false;  // the CPU may read and write its memory
    bool emulated = false;
  };
  explicit Device(Info info);
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& type() const { return info_.type; }
  int index() const { return info_.index; }
  int ordinal() const { return info_.ordinal; }
  int priority() const { return info_.priority; }
  Platform platform() const { return info_.platform; }
  /// True for CPU devices: ops run inline in the caller, addresses are ordinary memory.
  bool is_host() const { return info_.host_memory; }
  bool emulated() const { return info_.emulated; }
  /// "/job:localhost/replica:0/task:0/device:GPU:0"
  const std::string& full_name() const { return full_name_; }
  /// "GPU:0"
  const std::string& short_name() const { return short_name_; }

  virtual Allocator& allocator() = 0;
  virtual Stream& compute() = 0;
  virtual Stream& copy_in() = 0;
  virtual Stream& copy_out() = 0;
  /// Threads for kernels that run on host threads; null on native devices.
  virtual Team* team() { return nullptr; }
  /// Enqueues a copy on `stream` of this device. One side is this device's memory, the
  /// other host memory or memory of a device of the same backend. The device reports it
  /// to the recorder. Where it is refused it throws, and nothing of it is under way.
  virtual TimePoint copy(Stream& stream, void* to, const void* from, size_t bytes) = 0;
  /// Waits for all streams and throws the first error nobody has seen.
  virtual void synchronize();
  /// Its streams drop this error, which the user has seen elsewhere.
  void forget_error(const std::exception_ptr& error);
  /// Ends loops that it decides itself and that are under way or come after them: nobody
  /// will see what they make. What they should have made is spoiled.
  virtual void end_loops() {}
  /// Finishes the work and joins the device's threads; called once, when the process
  /// exits. Memory may still be freed afterwards, work can no longer be given.
  virtual void shutdown() {}

 private:
  Info info_;
  std::string full_name_;
  std::string short_name_;
};

}  // namespace tandem
