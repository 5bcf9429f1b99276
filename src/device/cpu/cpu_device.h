// CpuDevice: cores and memory of this machine. Logical CPU devices own disjoint core sets
// as far as there are cores. Owned by the runtime; any thread.
#pragma once

#include "base/core_set.h"
#include "device/backend.h"
#include "device/cpu/cpu_allocator.h"
#include "device/cpu/cpu_stream.h"
#include "device/cpu/host_lanes.h"
#include "device/device.h"

namespace tandem {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const OpenRequest& request);

  Allocator& allocator() override { return allocator_; }
  Stream& compute() override { return stream_; }
  Stream& copy_in() override { return stream_; }
  Stream& copy_out() override { return stream_; }
  Team* team() override { return &team_; }
  HostLanes& lanes() { return lanes_; }
  TimePoint copy(Stream& stream, void* to, const void* from, size_t bytes) override;
  void shutdown() override { lanes_.shutdown(); }

 private:
  CoreLease cores_;
  Team team_;
  CpuAllocator allocator_;
  CpuStream stream_;
  HostLanes lanes_;
};

}  // namespace tandem
