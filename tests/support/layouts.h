// Images from one layout to the other: from NHWC, channels last, to NCHW, channels first,
// and back. Transpositions, as traced programs have them.
#pragma once

#include "tandem/tandem.h"

namespace tandem::testing {

inline Tensor to_first(const Tensor& x) { return transpose(x, {{0, 3, 1, 2}}); }
inline Tensor to_last(const Tensor& x) { return transpose(x, {{0, 2, 3, 1}}); }

}  // namespace tandem::testing
