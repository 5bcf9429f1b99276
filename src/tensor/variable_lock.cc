#include "tensor/variable_lock.h"

#include <algorithm>
#include <mutex>

#include "tensor/variable_impl.h"

namespace tandem {

VariableLockPtr::VariableLockPtr(VariableImpl* owner)
    : owner_(owner), lock_(new VariableLock) {
  get()->members.push_back(owner);
}

VariableLockPtr::~VariableLockPtr() {
  VariableLock* lock;
  {
    const VariableHold hold(*owner_);
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
    if (mode == Mode::kExclusive) {
      lock->mutex.lock();
    } else {
      lock->mutex.lock_shared();
    }
    lock_ = lock;
    // It may have been joined to others while we waited.
    if (variable.lock.get() == lock) return;
    release();
  }
}

void join_variable_locks(std::span<VariableImpl* const> variables) {
  if (variables.size() < 2) return;
  static std::mutex joining;
  // Somebody may be about to take a lock that no variable has any more: those stay.
  static auto* retired = new std::vector<VariableLock*>;
  const std::lock_guard guard(joining);
  for (VariableImpl* v : variables.subspan(1)) {
    VariableLock* to = variables[0]->lock.get();
    VariableLock* from = v->lock.get();
    if (to == from) continue;
    const std::scoped_lock both(to->mutex, from->mutex);
    for (VariableImpl* member : from->members) {
      member->lock.lock_.store(to, std::memory_order_release);
      to->members.push_back(member);
    }
    from->members.clear();
    retired->push_back(from);
  }
}

}  // namespace tandem
