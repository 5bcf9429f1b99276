// LoopInterrupts: how a host that waits for loops which the GPU decides by itself ends
// them (Ctrl-C, base/interrupt.h). The kernel between two turns looks at the device's
// error report anyway: the host sets it from a stream of its own, since the others may be
// waiting for the loop. A turn costs nothing more for that, and what writes variables
// leaves them alone until the loop is over and the report is cleared. Owned by its
// device; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "device/cuda/driver.h"

namespace tandem::cuda {

class CudaDevice;
class CudaStream;

class LoopInterrupts {
 public:
  explicit LoopInterrupts(CudaDevice& device) : device_(device) {}

  /// A loop is being recorded: makes what it takes to end it, now that nothing is in the
  /// way. The device's context is current.
  void prepare();
  /// Work with loops was given to the compute stream, up to this number.
  void launched(uint64_t sequence) {
    uint64_t last = last_.load(std::memory_order_relaxed);
    while (last < sequence &&
           !last_.compare_exchange_weak(last, sequence, std::memory_order_release)) {
    }
  }
  /// Whether a loop may still be going round.
  bool under_way();
  /// Waits for the stream up to `sequence` or until no loop is under way any more, and
  /// asks meanwhile whether this thread is interrupted. If it is, ends the loops, waits,
  /// and throws what interrupted it.
  void wait(CudaStream& stream, uint64_t sequence);

  /// Ends those that are under way, and that are given before the report is cleared.
  void end_all();

 private:
  void end();

  CudaDevice& device_;
  std::once_flag prepared_;
  CUstream stream_ = nullptr;  // lives as long as the process
  int32_t* word_ = nullptr;    // page-locked: what the report's first word becomes
  std::atomic<uint64_t> last_{0};
};

}  // namespace tandem::cuda
