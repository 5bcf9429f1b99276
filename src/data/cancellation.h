// Cancellation: tells the threads of a pipeline to stop, and wakes those that wait. A
// stage with threads gives its inputs a child of its own, so that it can be taken down
// alone. Ctrl-C is asked for where a thread waits or goes round often (base/interrupt.h).
// Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/interrupt.h"

namespace tandem::data {

class Cancellation {
 public:
  static std::shared_ptr<Cancellation> make() { return std::make_shared<Cancellation>(); }
  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void check() const {
    if (cancelled()) throw_cancelled();
  }
  /// For the threads of a stage: their work ends when this is cancelled, wherever it
  /// polls.
  InterruptScope ends_work() const {
    return InterruptScope([](void* c) { static_cast<const Cancellation*>(c)->check(); },
                          const_cast<Cancellation*>(this),
                          InterruptScope::Waiting::kWakes);
  }
  /// Runs the callbacks on the calling thread.
  void cancel();
  /// Cancelled with this one, or alone.
  std::shared_ptr<Cancellation> child();

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
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::list<std::function<void()>> callbacks_;         // guarded by mutex_
  std::vector<std::weak_ptr<Cancellation>> children_;  // guarded by mutex_
};

/// Waits for the condition; throws CancelledError, or what an interrupt throws.
/// Registrations of `cancellation` must notify the variable.
void wait_until(std::condition_variable& variable, std::unique_lock<std::mutex>& lock,
                const Cancellation& cancellation, const std::function<bool()>& ready);

}  // namespace tandem::data
