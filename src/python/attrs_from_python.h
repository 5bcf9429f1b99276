// Attributes of an op from Python keywords. The struct is found by the keywords' JSON
// form in a table, so that only the first call of its kind parses anything.
#pragma once

#include <span>

#include <Python.h>

#include "op/op_def.h"

namespace tandem::python {

/// `names` is a tuple of keyword names, `values` their values; None keeps the default.
/// The result lives as long as `keep`. Needs the interpreter lock.
AttrsRef attrs_from_python(const OpDef& op, PyObject* names, PyObject* const* values,
                           Attrs& keep);

}  // namespace tandem::python
