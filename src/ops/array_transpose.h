// The permutation a Transpose means, for inference and kernels.
#pragma once

#include "tandem/ops/array.h"

namespace tandem {

/// perm with negative entries resolved; reversed dimensions when none is given.
Ints full_permutation(const TransposeAttrs& attrs, int rank);

}  // namespace tandem
