#include "device/cuda/pinned_pool.h"

#include <algorithm>
#include <chrono>

namespace tandem::cuda {

std::byte* PinnedPool::acquire() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!idle_.empty()) {
      std::byte* block = idle_.back();
      idle_.pop_back();
      return block;
    }
    if (made_ < kBlocks) {
      ++made_;
      lock.unlock();
      void* block = nullptr;
      const CUresult made =
          driver().cuMemHostAlloc(&block, kBlock, CU_MEMHOSTALLOC_PORTABLE);
      if (made == CUDA_SUCCESS) return static_cast<std::byte*>(block);
      lock.lock();
      --made_;
      if (made_ == 0) check(made, "page-locking memory for copies");
    }
    if (lent_.empty()) {
      // Another thread is between acquire() and lend().
      idle_changed_.wait_for(lock, std::chrono::milliseconds(1));
      continue;
    }
    const Lent oldest = lent_.front();
    lock.unlock();
    oldest.stream->wait_quietly(oldest.sequence);
    lock.lock();
    if (oldest.returns) {
      // Waiting ran its ending, unless another thread has yet to register it: until then
      // the contents are still wanted.
      const bool gone = std::none_of(lent_.begin(), lent_.end(), [&](const Lent& l) {
        return l.block == oldest.block;
      });
      if (!gone) idle_changed_.wait_for(lock, std::chrono::milliseconds(1));
      continue;
    }
    // Unless another waiter has freed it already.
    const auto same = std::find_if(lent_.begin(), lent_.end(), [&](const Lent& l) {
      return l.block == oldest.block && l.sequence == oldest.sequence &&
             l.stream == oldest.stream;
    });
    if (same != lent_.end()) {
      lent_.erase(same);
      return oldest.block;
    }
  }
}

void PinnedPool::lend(std::byte* block, CudaStream& stream, uint64_t sequence,
                      bool returns) {
  std::lock_guard lock(mutex_);
  lent_.push_back({block, &stream, sequence, returns});
  idle_changed_.notify_one();
}

void PinnedPool::release(std::byte* block) {
  std::lock_guard lock(mutex_);
  std::erase_if(lent_, [&](const Lent& l) { return l.block == block; });
  idle_.push_back(block);
  idle_changed_.notify_one();
}

}  // namespace tandem::cuda
