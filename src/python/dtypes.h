// DType between C++, Python and NumPy. The Python objects are singletons, one per dtype.
// Functions need the interpreter lock.
#pragma once

#include <nanobind/nanobind.h>

#include "tandem/dtype.h"

namespace tandem::python {

namespace nb = nanobind;

/// The Python class tf.DType wraps this; made once per dtype.
struct PyDType {
  DType dtype = DType::kInvalid;
};

/// The singleton of a dtype, as a borrowed reference.
PyObject* dtype_object(DType dtype);

/// What `o` names: a DType, a name, a NumPy dtype or scalar type. Raises TypeError with
/// TensorFlow's words when it names none; kInvalid for None.
DType to_dtype(PyObject* o);

/// NumPy's number for a dtype, -1 when it has none; strings are objects there.
int numpy_type(DType dtype);
/// The dtype with that NumPy number; kInvalid when there is none.
DType dtype_of_numpy(int type_number);

void bind_dtypes(nb::module_& m);

}  // namespace tandem::python
