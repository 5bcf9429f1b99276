// Random numbers whose distribution differs from element to element. Parameters have the
// shape of the result; what one element draws does not depend on the others.
#pragma once

#include "tandem/ops/random.h"

namespace tandem::random {

/// Counts of a Poisson distribution with mean `lam`, in the dtype of lam.
Tensor stateless_poisson(const KeyCounter& state, const Tensor& lam);
/// How many of `counts` tries with probability `probs` succeed.
Tensor stateless_binomial(const KeyCounter& state, const Tensor& counts,
                          const Tensor& probs);
/// Normal numbers between two bounds.
Tensor stateless_bounded_normal(const KeyCounter& state, const Tensor& means,
                                const Tensor& stddevs, const Tensor& minvals,
                                const Tensor& maxvals);

}  // namespace tandem::random
