// Waiting for a variable's lock: it can be interrupted, and who would wait for ever is
// told. That happens to a function of a pipeline which uses a variable that the compiled
// call holds which asks for the element. Any thread.
#pragma once

#include <vector>

#include "base/thread_state.h"
#include "tensor/variable_lock.h"

namespace tandem {

/// The lock that a call of this thread holds until it ends, so that others can see it.
/// Null: none. Used by one thread, nested.
class CallHold {
 public:
  CallHold(const VariableLock* lock, VariableHold::Mode mode)
      : lock_(lock), mode_(mode), outer_(t_thread.calls) {
    if (lock_) t_thread.calls = this;
  }
  CallHold(const CallHold&) = delete;
  CallHold& operator=(const CallHold&) = delete;
  ~CallHold() {
    if (lock_) t_thread.calls = outer_;
  }

  /// Whether a call of this thread holds the lock in a way that keeps out `wanted`.
  static bool keeps_out(const VariableLock* lock, VariableHold::Mode wanted);
  /// The locks of all calls of this thread.
  static std::vector<const VariableLock*> of_this_thread();

 private:
  const VariableLock* lock_;
  VariableHold::Mode mode_;
  CallHold* outer_;
};

/// Takes the lock, for the sake of `variable`. Polls interrupts where somebody listens;
/// throws FailedPreconditionError when a call of this thread keeps it out.
void wait_for_lock(VariableLock& lock, VariableHold::Mode mode,
                   const VariableImpl& variable);

/// What this thread waits for in wait_for_lock; null lock: nothing. For checks of
/// interrupts, which run on the thread that waits.
struct AwaitedLock {
  const VariableLock* lock = nullptr;
  const VariableImpl* variable = nullptr;
};
AwaitedLock awaited_lock();

/// The error of who waits for a lock that is not given back before it goes on.
[[noreturn]] void throw_held_by_caller(const VariableImpl& variable);

}  // namespace tandem
