// NumPy's C interface, with the one definition of its table in module.cc.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tandem_numpy_api
#ifndef TANDEM_NUMPY_OWNER
#define NO_IMPORT_ARRAY
#endif
#include <Python.h>
#include <numpy/arrayobject.h>

namespace tandem::python {

inline PyArrayObject* as_array(PyObject* o) {
  return reinterpret_cast<PyArrayObject*>(o);
}

}  // namespace tandem::python
