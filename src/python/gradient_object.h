// What a gradient is to Python. Needs the interpreter lock.
#pragma once

#include "python/bind.h"
#include "tandem/gradient.h"

namespace tandem::python {

/// None, a tensor, or (values, indices, dense_shape), of which Python makes
/// IndexedSlices.
nb::object gradient_object(const Gradient& g);

}  // namespace tandem::python
