// HostLanes: threads of a CPU device for work beside the caller's: one stream each, bound
// to a share of the device's cores and with a team of that size, so that lanes of one
// split never use the same core while there are enough. Made when a plan first asks,
// listed among the core claims, joined when the device shuts down. Owned by its device;
// any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/core_set.h"
#include "device/stream.h"

namespace tandem {

class Device;

class HostLanes {
 public:
  HostLanes(Device& device, CoreSet cores);
  HostLanes(const HostLanes&) = delete;
  HostLanes& operator=(const HostLanes&) = delete;
  ~HostLanes();

  /// The lanes of a CPU device; throws InternalError for another one.
  static HostLanes& of(Device& device);

  /// Lane `number`, from 1, of a split into `lanes`, with `threads` threads. The same one
  /// for everybody who asks; it lives as long as the device.
  Stream& lane(int number, int lanes, int threads);

  /// Finishes what is queued and joins the threads; lanes take no more work.
  void shutdown();

 private:
  struct Lane;
  Device& device_;
  const CoreSet cores_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // guarded by mutex_
};

}  // namespace tandem
