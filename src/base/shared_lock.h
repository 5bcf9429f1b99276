// SharedLock: many may hold it shared, or one exclusively, as std::shared_mutex, but
// taking and giving back a free lock is one atomic instruction in the caller's code, and
// waiting can be given up. Readers that come do not wait for writers that wait. Any
// thread; it outlives everybody who uses it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tandem {

class SharedLock {
 public:
  enum class Mode : uint8_t { kShared, kExclusive };

  bool try_lock() {
    uint32_t now = state_.load(std::memory_order_relaxed);
    while (!(now & ~kWaiting)) {
      if (state_.compare_exchange_weak(now, now | kExclusive, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  bool try_lock_shared() {
    uint32_t now = state_.load(std::memory_order_relaxed);
    while (!(now & kExclusive)) {
      if (state_.compare_exchange_weak(now, now + 1, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  void lock() {
    if (!try_lock()) wait(Mode::kExclusive, nullptr);
  }
  void lock_shared() {
    if (!try_lock_shared()) wait(Mode::kShared, nullptr);
  }
  /// False: somebody else held it all the time.
  bool lock_within(std::chrono::nanoseconds time, Mode mode) {
    const auto until = std::chrono::steady_clock::now() + time;
    return wait(mode, &until);
  }
  void unlock() {
    const uint32_t before =
        state_.fetch_and(~(kExclusive | kWaiting), std::memory_order_acq_rel);
    if (before & kWaiting) wake();
  }
  void unlock_shared() {
    // Only who waits to be alone waits for readers, and the last one is enough.
    const uint32_t before = state_.fetch_sub(1, std::memory_order_acq_rel);
    if (before == (kWaiting | 1)) last_reader_left();
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  bool wait(Mode mode, const Time* until);
  void last_reader_left();
  void wake();

  static constexpr uint32_t kExclusive = 1u << 31;
  /// Somebody waits, or did: who gives the lock back wakes all.
  static constexpr uint32_t kWaiting = 1u << 30;
  std::atomic<uint32_t> state_{0};  // the number of readers, and those two
  std::mutex mutex_;                // held from asking to be woken until asleep
  std::condition_variable given_back_;
};

}  // namespace tandem
