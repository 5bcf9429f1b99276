#include "tensor/variable_wait.h"

#include <chrono>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

constinit thread_local AwaitedLock t_awaited;

}  // namespace

bool CallHold::keeps_out(const VariableLock* lock, VariableHold::Mode wanted) {
  for (const CallHold* c = t_thread.calls; c; c = c->outer_) {
    if (c->lock_ == lock && (wanted == VariableHold::Mode::kExclusive ||
                             c->mode_ == VariableHold::Mode::kExclusive)) {
      return true;
    }
  }
  return false;
}

std::vector<const VariableLock*> CallHold::of_this_thread() {
  std::vector<const VariableLock*> locks;
  for (const CallHold* c = t_thread.calls; c; c = c->outer_) locks.push_back(c->lock_);
  return locks;
}

AwaitedLock awaited_lock() { return t_awaited; }

void wait_for_lock(VariableLock& lock, VariableHold::Mode mode,
                   const VariableImpl& variable) {
  const bool exclusive = mode == VariableHold::Mode::kExclusive;
  if (CallHold::keeps_out(&lock, mode)) throw_held_by_caller(variable);
  if (exclusive ? lock.mutex.try_lock() : lock.mutex.try_lock_shared()) return;
  if (!InterruptScope::listens()) {
    exclusive ? lock.mutex.lock() : lock.mutex.lock_shared();
    return;
  }
  struct Awaited {
    Awaited(const VariableLock& l, const VariableImpl& v) { t_awaited = {&l, &v}; }
    ~Awaited() { t_awaited = {}; }
  } awaited(lock, variable);
  constexpr std::chrono::nanoseconds kPeriod(InterruptScope::kPeriodNs);
  while (!lock.mutex.lock_within(kPeriod, mode)) poll_interrupt_now();
}

void throw_held_by_caller(const VariableImpl& variable) {
  throw FailedPreconditionError(fmt::format(
      "Variable '{}' is held by the compiled function that waits for this call until it "
      "ends. A function that a dataset runs cannot use a variable together with the "
      "function that iterates over it when one of them writes: iterate outside of the "
      "compiled function, or write the variable there instead of in the dataset.",
      variable.name));
}

}  // namespace tandem
