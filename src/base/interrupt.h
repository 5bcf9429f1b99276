// Interrupts (Ctrl-C): long work asks now and then whether it is to end. A front that can
// be interrupted puts an InterruptScope around its calls; loops, steps and waits poll it.
// One thread-local load where nobody listens, no lock; per thread.
#pragma once

#include <cstdint>

#include "base/thread_state.h"

namespace tandem {

/// While it lives, poll_interrupt() on this thread calls `check(data)` about twenty times
/// a second; what that throws ends the work that polled. Scopes nest; the innermost one
/// counts.
class InterruptScope {
 public:
  using Check = void (*)(void* data);
  /// kPolls: the check is the only way to learn of an interrupt, so that threads which
  /// wait must wake for it. kWakes: whoever interrupts wakes them.
  enum class Waiting : uint8_t { kPolls, kWakes };
  explicit InterruptScope(Check check, void* data = nullptr,
                          Waiting waiting = Waiting::kPolls)
      : check_(check), data_(data), waiting_(waiting), outer_(t_thread.interrupt) {
    t_thread.interrupt = this;
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope() { t_thread.interrupt = outer_; }

  /// Between two checks, and the longest that a waiting thread sleeps.
  static constexpr int64_t kPeriodNs = 50'000'000;
  /// Whether anybody can interrupt this thread.
  static bool listens() { return t_thread.interrupt; }
  /// Whether a thread that waits has to wake up by itself.
  static bool wakes_itself() {
    const InterruptScope* const scope = t_thread.interrupt;
    return scope && scope->waiting_ == Waiting::kPolls;
  }

 private:
  friend void poll_interrupt();
  friend void poll_interrupt_now();
  void look();

  Check check_;
  void* data_;
  Waiting waiting_;
  InterruptScope* outer_;
  int64_t looked_ns_ = 0;   // at the clock
  int64_t checked_ns_ = 0;  // 0: not yet
  int32_t left_ = 1;        // polls until the clock is looked at
  int32_t every_ = 1;
};

/// For loops and sequences of steps: reads the clock at every call where calls are far
/// apart, at every sixteenth where they are not.
void poll_interrupt();
/// Reads the clock at once; for threads that wait.
void poll_interrupt_now();

}  // namespace tandem
