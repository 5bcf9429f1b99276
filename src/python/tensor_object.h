// The Python objects around tensors. `Tensor` is the class of symbolic tensors and the
// base; `EagerTensor` holds contents. Written against CPython directly: one is made for
// every op result. Objects belong to the interpreter; functions need its lock.
#pragma once

#include <string>

#include <Python.h>

#include "tandem/tensor.h"

namespace tandem::python {

struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;
  PyObject* weakrefs;
  PyObject* graph;  // keeps the graph of a symbolic tensor alive; null otherwise
};

extern PyTypeObject* g_tensor_type;
extern PyTypeObject* g_eager_type;

inline bool is_tensor(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  return type == g_eager_type || type == g_tensor_type ||
         PyType_IsSubtype(type, g_tensor_type);
}
inline const Tensor& tensor_of(PyObject* o) {
  return reinterpret_cast<TensorObject*>(o)->tensor;
}

/// The Python object of the graph that this thread traces into; borrowed, may be null.
extern thread_local PyObject* t_graph;

/// A new Python object for the tensor; None when it is undefined.
PyObject* wrap(Tensor tensor);

/// What TensorFlow says where Python asks a tensor that has no value for one: raises
/// tf.errors.OperatorNotAllowedInGraphError.
[[noreturn]] void raise_not_allowed(const std::string& what);

/// Makes the types and adds them to the module. Slots of operators come from
/// operators.cc.
void bind_tensor(PyObject* module);

}  // namespace tandem::python
