// Sums of gradients that begin as undefined tensors. Any thread.
#pragma once

#include "tandem/ops/elementwise.h"

namespace tandem::nn {

/// Adds the term; an undefined sum becomes it.
inline void accumulate(Tensor& sum, const Tensor& term) {
  sum = sum.defined() ? sum + term : term;
}

}  // namespace tandem::nn
