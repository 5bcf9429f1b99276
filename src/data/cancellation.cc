#include "data/cancellation.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/recorder.h"
#include "tandem/error.h"

namespace tandem::data {

void Cancellation::throw_cancelled() { throw CancelledError("Iterator was cancelled."); }

void Cancellation::cancel() {
  std::vector<std::weak_ptr<Cancellation>> children;
  {
    // Callbacks run under the lock, so that a Registration that has gone is not called.
    const std::lock_guard lock(mutex_);
    if (cancelled()) return;
    since_ = std::chrono::steady_clock::now();
    cancelled_.store(true, std::memory_order_release);
    for (const auto& callback : callbacks_) callback();
    children.swap(children_);
  }
  for (const auto& weak : children) {
    if (const auto child = weak.lock()) child->cancel();
  }
}

std::shared_ptr<Cancellation> Cancellation::child() {
  auto made = make();
  made->parent_ = shared_from_this();
  const std::lock_guard lock(mutex_);
  if (cancelled()) made->cancel();
  std::erase_if(children_, [](const auto& weak) { return weak.expired(); });
  children_.push_back(made);
  return made;
}

namespace {
// A wait that lasts this long, for work that waits for the one who waits, has no end. A
// shorter one may be for an element that is under way further down.
constexpr int64_t kNoEndNs = 500'000'000;
}  // namespace

Cancellation::Waiter::Waiter(const Cancellation& on)
    : on_(on), held_(CallHold::of_this_thread()), since_ns_(recorder::now_ns()) {
  if (held_.empty()) return;
  const std::lock_guard lock(on_.waiters_mutex_);
  on_.waiters_.push_back(this);
}
Cancellation::Waiter::~Waiter() {
  if (held_.empty()) return;
  const std::lock_guard lock(on_.waiters_mutex_);
  std::erase(on_.waiters_, this);
}

bool Cancellation::is_awaited_by_holder(const VariableLock* lock) const {
  const std::lock_guard guard(waiters_mutex_);
  return std::any_of(waiters_.begin(), waiters_.end(), [&](const Waiter* w) {
    return recorder::now_ns() - w->since_ns_ > kNoEndNs &&
           std::find(w->held_.begin(), w->held_.end(), lock) != w->held_.end();
  });
}

void Cancellation::poll() const {
  check();
  const AwaitedLock wanted = awaited_lock();
  if (!wanted.lock) return;
  for (const Cancellation* c = this; c; c = c->parent_.get()) {
    if (c->is_awaited_by_holder(wanted.lock)) throw_held_by_caller(*wanted.variable);
  }
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
  std::optional<Cancellation::Waiter> waiter;
  for (;;) {
    cancellation.check();
    if (ready()) return;
    if (!waiter) waiter.emplace(cancellation);
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
