// Cancellation: tells the threads of a pipeline to stop, and wakes those that wait. A
// stage with threads gives its inputs a child of its own, so that it can be taken down
// alone. Ctrl-C is asked for where a thread waits or goes round often (base/interrupt.h).
// Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/interrupt.h"
#include "tensor/variable_wait.h"

namespace tandem::data {

class Cancellation : public std::enable_shared_from_this<Cancellation> {
 public:
  static std::shared_ptr<Cancellation> make() { return std::make_shared<Cancellation>(); }
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  /// When it was; asked once it was.
  std::chrono::steady_clock::time_point since() const { return since_; }
  void check() const {
    if (cancelled()) throw_cancelled();
  }
  /// For the threads of a stage: their work ends when this is cancelled, wherever it
  /// polls, and fails where it waits for a variable that is held by who waits for them.
  InterruptScope ends_work() const {
    return InterruptScope([](void* c) { static_cast<const Cancellation*>(c)->poll(); },
                          const_cast<Cancellation*>(this),
                          InterruptScope::Waiting::kWakes);
  }
  /// Runs the callbacks on the calling thread.
  void cancel();
  /// Cancelled with this one, or alone.
  std::shared_ptr<Cancellation> child();

  /// Somebody who waits for the threads that this cancels, for as long as it lives, and
  /// the variables that calls of that thread hold meanwhile.
  class Waiter {
   public:
    explicit Waiter(const Cancellation& on);
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    ~Waiter();

   private:
    friend class Cancellation;
    const Cancellation& on_;
    const std::vector<const VariableLock*> held_;
    const int64_t since_ns_;
  };

  /// A callback for as long as it lives; one that is there too late runs at once.
  class Registration {
   public:
    Registration(std::shared_ptr<Cancellation> owner, std::function<void()> callback);
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration();

   private:
    std::shared_ptr<Cancellation> owner_;
    std::list<std::function<void()>>::iterator place_;
  };

 private:
  [[noreturn]] static void throw_cancelled();
  void poll() const;
  bool is_awaited_by_holder(const VariableLock* lock) const;
  std::atomic<bool> cancelled_{false};
  std::chrono::steady_clock::time_point since_;  // written before cancelled_
  std::mutex mutex_;
  std::list<std::function<void()>> callbacks_;         // guarded by mutex_
  std::vector<std::weak_ptr<Cancellation>> children_;  // guarded by mutex_
  std::shared_ptr<const Cancellation> parent_;         // set before anybody sees this
  // Taken under locks of stages, which callbacks take under the other one.
  mutable std::mutex waiters_mutex_;
  mutable std::vector<const Waiter*> waiters_;  // guarded by waiters_mutex_
};

/// Waits for the condition; throws CancelledError, or what an interrupt throws.
/// Registrations of `cancellation` must notify the variable.
void wait_until(std::condition_variable& variable, std::unique_lock<std::mutex>& lock,
                const Cancellation& cancellation, const std::function<bool()>& ready);

}  // namespace tandem::data
