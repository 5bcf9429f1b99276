// The native base of tf.Variable. The Python class adds construction, assignment with
// TensorFlow's arguments, and what Keras looks at.
#pragma once

#include <nanobind/nanobind.h>

#include "tandem/variable.h"

namespace tandem::python {

namespace nb = nanobind;

extern PyTypeObject* g_variable_type;

inline bool is_variable(PyObject* o) {
  return g_variable_type && PyObject_TypeCheck(o, g_variable_type);
}
/// Throws when the Python object was not initialised.
const Variable& variable_of_object(PyObject* o);
/// Its contents. A variable whose copies are joined when it is read asks its class.
Tensor read_variable(PyObject* o);

void bind_variable(nb::module_& m);

}  // namespace tandem::python
