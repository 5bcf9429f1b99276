// VariableLock: guards the values of one or several variables. Every variable begins with
// one of its own; the variables of a compiled function are joined, so that a call takes
// one lock however many there are. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/shared_lock.h"

namespace tandem {

struct VariableImpl;

struct VariableLock {
  /// How often it was taken. Who finds that only it did so since the last time knows that
  /// no value was replaced or moved and no read handed out.
  std::atomic<uint64_t> holds{0};
  SharedLock mutex;
  std::vector<VariableImpl*> members;  // guarded by one mutex for all
};

/// A variable's place for its lock.
class VariableLockPtr {
 public:
  explicit VariableLockPtr(VariableImpl* owner);
  VariableLockPtr(const VariableLockPtr&) = delete;
  VariableLockPtr& operator=(const VariableLockPtr&) = delete;
  ~VariableLockPtr();
  VariableLock* get() const { return lock_.load(std::memory_order_acquire); }

 private:
  friend void join_variable_locks(std::span<VariableImpl* const> variables);
  VariableImpl* owner_;
  std::atomic<VariableLock*> lock_;
};

/// From now on these variables, and all that share a lock with one of them, have one
/// lock.
void join_variable_locks(std::span<VariableImpl* const> variables);

/// Holds the lock of a variable; empty: of none.
class VariableHold {
 public:
  using Mode = SharedLock::Mode;
  VariableHold() = default;
  explicit VariableHold(VariableImpl& variable, Mode mode = Mode::kExclusive);
  VariableHold(VariableHold&& other) noexcept
      : lock_(std::exchange(other.lock_, nullptr)), mode_(other.mode_) {}
  VariableHold& operator=(VariableHold&& other) noexcept {
    release();
    lock_ = std::exchange(other.lock_, nullptr);
    mode_ = other.mode_;
    return *this;
  }
  ~VariableHold() { release(); }
  void release();
  /// The lock; null: of none, or of one that a scope of this thread holds.
  const VariableLock* lock() const { return lock_; }

 private:
  VariableLock* lock_ = nullptr;
  Mode mode_ = Mode::kExclusive;
};

}  // namespace tandem
