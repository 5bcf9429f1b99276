// How TensorFlow prints tensors: in rows and columns with the middle left out
// (tf.print), or the first elements in one line (assertions). Host tensors.
#pragma once

#include <string>

#include "tandem/tensor.h"

namespace tandem {

/// "[[0 1 2]\n [3 4 5]]"; at most `summarize` elements at both ends of a dimension, all
/// when negative. Strings inside of arrays are quoted.
std::string format_rows(const Tensor& host, int64_t summarize);
/// "1 2 3..."; brackets only around inner dimensions.
std::string format_first(const Tensor& host, int64_t limit);

}  // namespace tandem
