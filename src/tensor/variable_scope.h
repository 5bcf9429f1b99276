// VariableScope: a hold on a variable that lasts over several ops and plans, each of
// which holds its variables itself: on this thread those find the lock taken already.
// Used by one thread; scopes may be nested.
#pragma once

#include "tensor/variable_lock.h"
#include "tensor/variable_wait.h"

namespace tandem {

class VariableScope {
 public:
  VariableScope(VariableImpl& variable, VariableHold::Mode mode);
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;
  ~VariableScope();

  /// Whether a scope of this thread holds that lock.
  static bool holds(const VariableLock* lock);

 private:
  VariableHold hold_;
  const VariableLock* lock_;
  CallHold call_;
  VariableScope* outer_;
};

}  // namespace tandem
