// Python's operators on tensors and variables, and indexing, with TensorFlow's rules of
// conversion. The slots serve every class that puts them into its type.
#pragma once

#include <vector>

#include <Python.h>

namespace tandem::python {

/// A function as PyType_Slot holds it.
template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

void append_operator_slots(std::vector<PyType_Slot>& slots);

/// x[key], StridedSlice with all of Python's forms.
PyObject* get_item(PyObject* self, PyObject* key);

/// Called with (tensor, mask) where an index is a mask of booleans.
void register_boolean_mask(PyObject* function);

}  // namespace tandem::python
