#include "device/cuda/pinned_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tandem::cuda {

namespace {
/// Blocks on their way from which on the driver is asked whether they have arrived.
constexpr size_t kWorthAsking = 8;
}  // namespace

std::byte* PinnedPool::take_free() {
  if (!idle_.empty()) {
    std::byte* const block = idle_.back();
    idle_.pop_back();
    return block;
  }
  const auto passed = std::find_if(lent_.begin(), lent_.end(), [](const Lent& l) {
    return !l.returns && l.stream->has_passed(l.sequence);
  });
  if (passed == lent_.end()) return nullptr;
  std::byte* const block = passed->block;
  lent_.erase(passed);
  return block;
}

std::byte* PinnedPool::make(std::unique_lock<std::mutex>& lock) {
  if (made_ == kBlocks) return nullptr;
  ++made_;
  lock.unlock();
  void* block = nullptr;
  const CUresult made = driver().cuMemHostAlloc(&block, kBlock, CU_MEMHOSTALLOC_PORTABLE);
  lock.lock();
  if (made == CUDA_SUCCESS) return static_cast<std::byte*>(block);
  --made_;
  if (made_ == 0) check(made, "page-locking memory for copies");
  return nullptr;
}

std::byte* PinnedPool::try_acquire() {
  std::unique_lock lock(mutex_);
  if (std::byte* const block = take_free()) return block;
  if (lent_.size() >= kWorthAsking || (made_ == kBlocks && !lent_.empty())) {
    // Before more memory is page-locked: whether the oldest has come across meanwhile,
    // and those after it. For single blocks that would cost more than they do.
    const Lent oldest = lent_.front();
    lock.unlock();
    oldest.stream->passed(oldest.sequence);
    lock.lock();
    if (std::byte* const block = take_free()) return block;
  }
  return make(lock);
}

std::byte* PinnedPool::acquire() {
  while (true) {
    if (std::byte* const block = try_acquire()) return block;
    std::unique_lock lock(mutex_);
    if (lent_.empty()) {
      // Other threads are between acquire() and lend().
      if (idle_.empty()) idle_changed_.wait_for(lock, std::chrono::milliseconds(1));
      continue;
    }
    const Lent oldest = lent_.front();
    lock.unlock();
    oldest.stream->wait_quietly(oldest.sequence);
    if (!oldest.returns) continue;
    // Waiting ran its ending, unless another thread has yet to register it: until then
    // the contents are still wanted.
    lock.lock();
    const bool gone = std::none_of(lent_.begin(), lent_.end(), [&](const Lent& l) {
      return l.block == oldest.block && l.sequence == oldest.sequence;
    });
    if (!gone) idle_changed_.wait_for(lock, std::chrono::milliseconds(1));
  }
}

void PinnedPool::nap(std::chrono::microseconds most) {
  std::unique_lock lock(mutex_);
  if (idle_.empty()) idle_changed_.wait_for(lock, most);
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

size_t PinnedPool::trim() {
  std::vector<std::byte*> free;
  {
    std::unique_lock lock(mutex_);
    if (!lent_.empty()) {
      const Lent newest = lent_.back();
      lock.unlock();
      newest.stream->passed(newest.sequence);
      lock.lock();
    }
    while (std::byte* const block = take_free()) free.push_back(block);
    made_ -= free.size();
  }
  for (std::byte* const block : free) driver().cuMemFreeHost(block);
  return free.size() * kBlock;
}

}  // namespace tandem::cuda
