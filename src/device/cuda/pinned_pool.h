// PinnedPool: blocks of page-locked host memory through which copies between pageable
// memory and the GPU go, so that no copy makes the host wait for the GPU. Bounded: when
// all blocks are on their way, acquire() waits for the oldest. Owned by its device; any
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "device/cuda/cuda_stream.h"

namespace tandem::cuda {

class PinnedPool {
 public:
  static constexpr size_t kBlock = 1 << 20;
  static constexpr size_t kBlocks = 32;

  /// A block that nobody uses. Waits for one.
  std::byte* acquire();
  /// The same; null where it would have to wait.
  std::byte* try_acquire();
  /// Sleeps for a moment, or until a block comes back.
  void nap(std::chrono::microseconds most);
  /// The block is on its way in work of `stream` up to `sequence`, and free afterwards;
  /// or, when `returns`, once its user has taken its contents and called release().
  void lend(std::byte* block, CudaStream& stream, uint64_t sequence,
            bool returns = false);
  /// Nobody uses the block any more.
  void release(std::byte* block);
  /// Gives the blocks back that nobody uses; returns their bytes. The device's context is
  /// current.
  size_t trim();

 private:
  struct Lent {
    std::byte* block;
    CudaStream* stream;
    uint64_t sequence;
    bool returns;
  };
  /// A block that is known to be free, or null. Locked.
  std::byte* take_free();
  /// Locked; unlocks meanwhile. Null when there are all, or no memory for more.
  std::byte* make(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable idle_changed_;
  std::vector<std::byte*> idle_;
  std::deque<Lent> lent_;  // oldest first; freed when their point has passed
  size_t made_ = 0;
};

}  // namespace tandem::cuda
