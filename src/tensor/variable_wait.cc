#include "tensor/variable_wait.h"

#include <cerrno>
#include <ctime>
#include <string>

#include <fmt/format.h>
#include <pthread.h>

#include "base/interrupt.h"
#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

constinit thread_local CallHold* t_calls = nullptr;
constinit thread_local AwaitedLock t_awaited;

timespec one_period_from_now() {
  constexpr int64_t kSecond = 1'000'000'000;
  timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  const int64_t ns = at.tv_nsec + InterruptScope::kPeriodNs;
  at.tv_sec += ns / kSecond;
  at.tv_nsec = ns % kSecond;
  return at;
}

// std::shared_mutex cannot give up waiting; what it is made of can.
bool lock_within_a_period(VariableLock& lock, VariableHold::Mode mode) {
  auto* mutex = static_cast<pthread_rwlock_t*>(lock.mutex.native_handle());
  const timespec until = one_period_from_now();
  const int result = mode == VariableHold::Mode::kExclusive
                         ? pthread_rwlock_timedwrlock(mutex, &until)
                         : pthread_rwlock_timedrdlock(mutex, &until);
  if (result != 0 && result != ETIMEDOUT) {
    throw InternalError("waiting for a variable: error " + std::to_string(result));
  }
  return result == 0;
}

}  // namespace

CallHold::CallHold(const VariableLock* lock, VariableHold::Mode mode)
    : lock_(lock), mode_(mode), outer_(t_calls) {
  if (lock_) t_calls = this;
}
CallHold::~CallHold() {
  if (lock_) t_calls = outer_;
}

bool CallHold::keeps_out(const VariableLock* lock, VariableHold::Mode wanted) {
  for (const CallHold* c = t_calls; c; c = c->outer_) {
    if (c->lock_ == lock && (wanted == VariableHold::Mode::kExclusive ||
                             c->mode_ == VariableHold::Mode::kExclusive)) {
      return true;
    }
  }
  return false;
}

std::vector<const VariableLock*> CallHold::of_this_thread() {
  std::vector<const VariableLock*> locks;
  for (const CallHold* c = t_calls; c; c = c->outer_) locks.push_back(c->lock_);
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
  while (!lock_within_a_period(lock, mode)) poll_interrupt_now();
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
