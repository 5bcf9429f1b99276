// Mixed precision: a layer computes in the dtype of its input, whatever its variables are
// kept in. Gradients go back through the cast, so that optimizers see the variables' own.
#pragma once

#include "tandem/ops.h"
#include "tandem/variable.h"

namespace tandem::layers {

/// The variable's value in the dtype of `x`.
inline Tensor as_input(const Variable& v, const Tensor& x) {
  return v.dtype() == x.dtype() ? v.read() : cast(v, x.dtype());
}

}  // namespace tandem::layers
