#include "python/interrupt.h"

namespace tandem::python {

void check_signals(void*) {
  const nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace tandem::python
