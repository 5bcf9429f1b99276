// Ctrl-C in long work: what may take long runs in an Interruptible block.
#pragma once

#include "base/interrupt.h"
#include "python/bind.h"

namespace tandem::python {

/// For InterruptScope: throws what a signal handler of Python raised. Without the
/// interpreter lock; only Python's main thread ever finds something.
void check_signals(void* unused);

/// Work without the interpreter lock that ends with KeyboardInterrupt, or whatever else a
/// signal handler raises, at the next place where it polls (base/interrupt.h).
class Interruptible {
 public:
  Interruptible() : scope_(check_signals) {}
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  InterruptScope scope_;
  nb::gil_scoped_release unlocked_;
};

}  // namespace tandem::python
