// EmulatedDevice: a GPU played by threads. Its memory cannot be touched from the host,
// its three streams are threads, copies take the time of a link, allocation fails at its
// limit. Pages come when they are touched, with and without memory growth. Kernels are
// the host's, run on the device's own cores. Owned by the runtime; any thread.
#pragma once

#include <functional>

#include "device/backend.h"
#include "device/device.h"
#include "device/emulated/emulated_allocator.h"
#include "device/emulated/emulated_arena.h"
#include "device/emulated/emulated_stream.h"

namespace tandem {

/// What a copy to or from the device costs.
struct EmulatedLink {
  double bytes_per_second = 12e9;  // 0: as fast as memory allows
  double latency_seconds = 10e-6;
  /// From TANDEM_EMULATED_BANDWIDTH_GBPS and TANDEM_EMULATED_LATENCY_US; throws
  /// ValueError.
  static EmulatedLink from_environment();
};

/// TANDEM_EMULATED_SPEED: how fast kernels are, beside those of the cores that play the
/// device: more than 0, at most 1. Throws ValueError.
double emulated_speed();

class EmulatedDevice final : public Device {
 public:
  struct Options {
    OpenRequest request;
    size_t memory_bytes = 0;
    EmulatedLink link;
    double speed = 1;                // of kernels, see emulated_speed()
    std::function<void()> on_close;  // called when the device is destroyed; may be empty
  };
  explicit EmulatedDevice(Options options);
  ~EmulatedDevice() override;

  Allocator& allocator() override { return allocator_; }
  Stream& compute() override { return compute_; }
  Stream& copy_in() override { return copy_in_; }
  Stream& copy_out() override { return copy_out_; }
  Team* team() override { return &team_; }
  TimePoint copy(Stream& stream, void* to, const void* from, size_t bytes) override;
  void shutdown() override;
  void end_loops() override;

  const EmulatedArena& arena() const { return arena_; }

 private:
  EmulatedStream::Options stream_options(const char* name, Team* team, double speed = 1);
  bool holds(const void* address) const {
    return address >= arena_.base() && address < arena_.base() + arena_.bytes();
  }

  const Options options_;
  CoreLease cores_;
  Team team_;
  EmulatedArena arena_;
  EmulatedAllocator allocator_;
  EmulatedStream compute_;
  EmulatedStream copy_in_;
  EmulatedStream copy_out_;
};

}  // namespace tandem
