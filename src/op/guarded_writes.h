// Kernels of native devices run on after another has failed: nobody can stop what is
// enqueued. So a kernel whose output is a variable's memory must look for a failure
// itself before it writes. Plans put such outputs only on ops that can
// (writes_are_guarded), and the executor says so around the launch, on the launching
// thread, while it is recorded.
#pragma once

#include "op/op_def.h"

namespace tandem {

namespace detail {
inline thread_local bool t_guarded_writes = false;
}

/// What is launched now writes a variable: nothing, when something has failed before.
inline bool guarded_writes() { return detail::t_guarded_writes; }

class GuardedWrites {
 public:
  explicit GuardedWrites(bool guarded) : outer_(detail::t_guarded_writes) {
    detail::t_guarded_writes = guarded;
  }
  GuardedWrites(const GuardedWrites&) = delete;
  GuardedWrites& operator=(const GuardedWrites&) = delete;
  ~GuardedWrites() { detail::t_guarded_writes = outer_; }

 private:
  bool outer_;
};

/// Whether native kernels of an op obey guarded_writes(): elementwise ops and fused
/// programs do on every platform, and must not fail by themselves half-way.
inline bool writes_are_guarded(const OpDef& op) {
  return !(op.effects & kMayFail) &&
         (!op.expression.empty() || op.name == "Fused" || op.name == "FusedMulti");
}

}  // namespace tandem
