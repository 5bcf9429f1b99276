// CpuStream: the CPU's stream. Work runs to its end inside submit(), on the caller's
// thread, so several callers may work at once and every point in time has already passed.
// An exception of a task goes to the caller.
#pragma once

#include <string>

#include "device/stream.h"

namespace tandem {

class CpuStream final : public Stream {
 public:
  /// `lane` lives as long as the process.
  CpuStream(Device& device, const char* lane)
      : Stream(lane), context_{.device = &device, .lane = lane} {}

  TimePoint submit(StreamTask task) override {
    task(context_);
    return {};
  }
  /// Blocks: the next task must not start before.
  void wait(TimePoint point) override { point.host_wait(); }
  TimePoint now() override { return {}; }
  bool passed(uint64_t) override { return true; }
  void host_wait(uint64_t) override {}
  std::exception_ptr take_error() override { return nullptr; }
  bool inline_execution() const override { return true; }

 private:
  const StreamContext context_;
};

}  // namespace tandem
