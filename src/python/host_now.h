// Whether a tensor's contents can be read at once, without the interpreter lock being
// given up: they lie in host memory and no work on them is under way. Any thread.
#pragma once

#include "tandem/tensor.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

inline bool on_host_now(const TensorImpl& t) {
  return t.buffer && t.device->is_host() && !t.buffer->ready() && !t.buffer->poisoned();
}

}  // namespace tandem::python
