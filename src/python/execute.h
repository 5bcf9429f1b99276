// The one dispatcher of all ops: Python values in, tensors out (design, decision 18).
#pragma once

#include <nanobind/nanobind.h>

#include "op/emitter.h"

namespace tandem::python {

namespace nb = nanobind;

/// Runs the op without the interpreter lock, unless it is too small to be worth it.
Tensor emit_unlocked(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs);

void bind_execute(nb::module_& m);

}  // namespace tandem::python
