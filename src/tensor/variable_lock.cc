#include "tensor/variable_lock.h"

#include <algorithm>
#include <mutex>

#include "base/thread_state.h"
#include "tensor/variable_impl.h"
#include "tensor/variable_scope.h"
#include "tensor/variable_wait.h"

namespace tandem {

namespace {
// Guards the members of all locks.
std::mutex& members_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}
}  // namespace

VariableLockPtr::VariableLockPtr(VariableImpl* owner)
    : owner_(owner), lock_(new VariableLock) {
  get()->members.push_back(owner);
}

// Calls that hold the lock use others of its variables: they are not waited for.
VariableLockPtr::~VariableLockPtr() {
  VariableLock* lock;
  {
    const std::lock_guard guard(members_mutex());
    lock = get();
    std::erase(lock->members, owner_);
    if (!lock->members.empty()) lock = nullptr;
  }
  delete lock;
}

void VariableHold::release() {
  if (!lock_) return;
  if (mode_ == Mode::kExclusive) {
    lock_->mutex.unlock();
  } else {
    lock_->mutex.unlock_shared();
  }
  lock_ = nullptr;
}

VariableHold::VariableHold(VariableImpl& variable, Mode mode) : mode_(mode) {
  for (;;) {
    VariableLock* lock = variable.lock.get();
    const ThreadState& thread = t_thread;
    if (thread.held_variables && VariableScope::holds(lock)) {
      return;  // and it cannot be joined to others now
    }
    // Calls of this thread may keep it out.
    const bool taken =
        !thread.calls && (mode == Mode::kExclusive ? lock->mutex.try_lock()
                                                   : lock->mutex.try_lock_shared());
    if (!taken) wait_for_lock(*lock, mode, variable);
    lock_ = lock;
    // It may have been joined to others while we waited.
    if (variable.lock.get() == lock) {
      lock->holds.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    release();
  }
}

bool VariableScope::holds(const VariableLock* lock) {
  for (const VariableScope* s = t_thread.held_variables; s; s = s->outer_) {
    if (s->lock_ == lock) return true;
  }
  return false;
}

VariableScope::VariableScope(VariableImpl& variable, VariableHold::Mode mode)
    : hold_(variable, mode),
      lock_(variable.lock.get()),
      call_(hold_.lock(), mode),
      outer_(t_thread.held_variables) {
  t_thread.held_variables = this;
}
VariableScope::~VariableScope() { t_thread.held_variables = outer_; }

void join_variable_locks(std::span<VariableImpl* const> variables) {
  // Locks are joined and never parted. A call that goes on in parts plans the later ones
  // while it holds its variables, whose lock is one already: it must not wait for
  // somebody who joins others and waits for it.
  const bool joined = std::all_of(
      variables.begin(), variables.end(),
      [&](const VariableImpl* v) { return v->lock.get() == variables[0]->lock.get(); });
  if (joined) return;
  static std::mutex joining;
  // Somebody may be about to take a lock that no variable has any more: those stay.
  static auto* retired = new std::vector<VariableLock*>;
  const std::lock_guard guard(joining);
  for (VariableImpl* v : variables.subspan(1)) {
    VariableLock* to = variables[0]->lock.get();
    VariableLock* from = v->lock.get();
    if (to == from) continue;
    // What a scope of this thread holds stays the lock, and is not taken again.
    if (VariableScope::holds(from)) std::swap(to, from);
    std::unique_lock first(to->mutex, std::defer_lock);
    std::unique_lock second(from->mutex, std::defer_lock);
    const bool has_first = VariableScope::holds(to),
               has_second = VariableScope::holds(from);
    if (!has_first && !has_second) {
      std::lock(first, second);
    } else if (!has_first) {
      first.lock();
    } else if (!has_second) {
      second.lock();
    }
    const std::lock_guard members(members_mutex());
    for (VariableImpl* member : from->members) {
      member->lock.lock_.store(to, std::memory_order_release);
      to->members.push_back(member);
    }
    from->members.clear();
    retired->push_back(from);
  }
}

}  // namespace tandem
