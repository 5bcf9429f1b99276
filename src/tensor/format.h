// Printing of tensors exactly as TensorFlow prints them (NumPy's array formatting
// underneath).
#pragma once

#include <string>

#include "tandem/tensor.h"

namespace tandem {

/// NumPy's str() of the contents: "[[1. 2.]\n [3. 4.]]".
std::string numpy_str(const Tensor& host);
/// NumPy's repr() of the contents: "array([[1., 2.],\n       [3., 4.]], dtype=float32)".
std::string numpy_repr(const Tensor& host);

}  // namespace tandem
