// What CUPTI's records say, in our words: kernels, copies and fills of the GPU with their
// times, the op that each belongs to, and the recorder's clock. Records come in any order
// and in several buffers; everything is put together at the end. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <cupti.h>

#include "device/capture_session.h"

namespace tandem::cuda {

/// CUPTI's clock and the recorder's at two moments; in between both run evenly.
struct ClockPair {
  int64_t cupti = 0, host = 0;
};
struct Clock {
  ClockPair start, end;
  /// In the recorder's nanoseconds.
  int64_t host(uint64_t cupti) const;
};

/// A finished piece of the GPU's work.
struct GpuWork {
  const char* name = "";        // of the kernel; "copy to the GPU"
  const char* values = "";      // "name=value" lines for the trace
  uint64_t start = 0, end = 0;  // CUPTI's clock
  uint32_t device = 0, stream = 0, correlation = 0;
  uint64_t node = 0;  // of a captured step; 0: launched by itself
  int64_t bytes = 0;
};

class ActivityLog {
 public:
  /// Takes what is of use in a record, which may be of any kind.
  void add(const CUpti_Activity& record);

  /// What the number means that was pushed around a launch.
  void add_label(uint64_t external, StepLabel label) { labels_[external] = label; }
  /// The step that a node of an instantiated graph belongs to.
  void add_node(uint64_t node, StepLabel label) { nodes_[node] = label; }
  /// "GPU:0/compute" for a stream of a GPU, by CUPTI's numbers.
  void add_stream(uint32_t device, uint32_t stream, std::string lane);
  /// "GPU:0": for streams that nobody named.
  void add_device(uint32_t device, std::string name);

  /// Gives all work to the recorder. Returns how many pieces that was.
  size_t report(const Clock& clock) const;

  const std::vector<GpuWork>& work() const { return work_; }
  /// The op of a piece of work; an empty name where nobody knows.
  StepLabel label_of(const GpuWork& work) const;
  std::string lane_of(const GpuWork& work) const;
  /// What was pushed around its launch; 0: nothing.
  uint64_t launch_of(const GpuWork& work) const;

 private:
  static uint64_t key(uint32_t device, uint32_t stream) {
    return uint64_t{device} << 32 | stream;
  }

  std::vector<GpuWork> work_;
  std::unordered_map<uint32_t, uint64_t> external_;  // by correlation
  std::unordered_map<uint64_t, StepLabel> labels_, nodes_;
  std::unordered_map<uint64_t, std::string> lanes_;
  std::unordered_map<uint32_t, std::string> devices_;
};

}  // namespace tandem::cuda
