#include "data/cancellation.h"

#include <chrono>

#include "tandem/error.h"

namespace tandem::data {

void Cancellation::throw_cancelled() { throw CancelledError("Iterator was cancelled."); }

void Cancellation::cancel() {
  std::vector<std::weak_ptr<Cancellation>> children;
  {
    // Callbacks run under the lock, so that a Registration that has gone is not called.
    const std::lock_guard lock(mutex_);
    if (cancelled_.exchange(true, std::memory_order_acq_rel)) return;
    for (const auto& callback : callbacks_) callback();
    children.swap(children_);
  }
  for (const auto& weak : children) {
    if (const auto child = weak.lock()) child->cancel();
  }
}

std::shared_ptr<Cancellation> Cancellation::child() {
  auto made = make();
  const std::lock_guard lock(mutex_);
  if (cancelled()) made->cancel();
  std::erase_if(children_, [](const auto& weak) { return weak.expired(); });
  children_.push_back(made);
  return made;
}

Cancellation::Registration::Registration(std::shared_ptr<Cancellation> owner,
                                         std::function<void()> callback)
    : owner_(std::move(owner)) {
  bool late;
  {
    const std::lock_guard lock(owner_->mutex_);
    place_ = owner_->callbacks_.insert(owner_->callbacks_.end(), callback);
    late = owner_->cancelled();
  }
  if (late) callback();
}

Cancellation::Registration::~Registration() {
  const std::lock_guard lock(owner_->mutex_);
  owner_->callbacks_.erase(place_);
}

void wait_until(std::condition_variable& variable, std::unique_lock<std::mutex>& lock,
                const Cancellation& cancellation, const std::function<bool()>& ready) {
  for (;;) {
    cancellation.check();
    if (ready()) return;
    if (!InterruptScope::wakes_itself()) {
      variable.wait(lock);
      continue;
    }
    variable.wait_for(lock, std::chrono::nanoseconds(InterruptScope::kPeriodNs));
    lock.unlock();
    poll_interrupt_now();
    lock.lock();
  }
}

}  // namespace tandem::data
