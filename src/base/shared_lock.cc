#include "base/shared_lock.h"

namespace tandem {

// A wake-up cannot be missed: who holds the lock gives it back after the bit was set, for
// else trying would have succeeded, so sees it, and notifies when we are asleep, for it
// needs the mutex.
[[gnu::cold]] bool SharedLock::wait(Mode mode, const Time* until) {
  std::unique_lock guard(mutex_);
  for (;;) {
    state_.fetch_or(kWaiting, std::memory_order_acq_rel);
    if (mode == Mode::kExclusive ? try_lock() : try_lock_shared()) return true;
    if (!until) {
      given_back_.wait(guard);
    } else if (given_back_.wait_until(guard, *until) == std::cv_status::timeout) {
      return mode == Mode::kExclusive ? try_lock() : try_lock_shared();
    }
  }
}

[[gnu::cold]] void SharedLock::last_reader_left() {
  // Whoever has come meanwhile wakes them in our place.
  uint32_t alone = kWaiting;
  if (state_.compare_exchange_strong(alone, 0, std::memory_order_acq_rel)) wake();
}

[[gnu::cold]] void SharedLock::wake() {
  const std::lock_guard guard(mutex_);
  given_back_.notify_all();
}

}  // namespace tandem
