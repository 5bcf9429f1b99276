// Compiled functions as Python objects: `_core.CompiledFunction` holds a shared
// CompiledFunction. Others of this folder reach it with compiled_of(). Functions need the
// interpreter lock.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "run/compiled_function.h"

namespace tandem::python {

namespace nb = nanobind;

/// The function behind a `_core.CompiledFunction`; raises TypeError for anything else.
std::shared_ptr<CompiledFunction> compiled_of(PyObject* o);

/// A new `_core.CompiledFunction`.
nb::object compiled_object(std::shared_ptr<CompiledFunction> function);

}  // namespace tandem::python
