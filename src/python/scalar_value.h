// A tensor of one element as a Python number. Needs the interpreter lock.
#pragma once

#include <nanobind/nanobind.h>

#include "tandem/tensor.h"

namespace tandem::python {

namespace nb = nanobind;

/// What NumPy's item() gives: a bool, int, float, complex, or the bytes of a string.
/// Waits for the contents. The tensor has one element.
nb::object python_scalar(const Tensor& tensor);

}  // namespace tandem::python
