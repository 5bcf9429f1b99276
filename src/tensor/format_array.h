// Arrays of any dtype as NumPy 2.4 prints them with its default options, and the lines
// TensorFlow 2.21 makes of them. They work on plain host memory in row-major order, so
// that they need no device and no Tensor. A string element is a std::string. Pure
// functions, any thread.
#pragma once

#include <string>

#include "tandem/dtype.h"
#include "tandem/shape.h"

namespace tandem {

/// str() of the array, or of the scalar when the rank is 0.
std::string array_str(DType dtype, const Shape& shape, const void* data);
/// repr() of the array; of a scalar, Python's repr() of its value (what TensorFlow
/// shows).
std::string array_repr(DType dtype, const Shape& shape, const void* data);

/// "tf.Tensor([1. 2.], shape=(2,), dtype=float32)".
std::string eager_str(DType dtype, const Shape& shape, const void* data);
/// "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>".
std::string eager_repr(DType dtype, const Shape& shape, const void* data);

}  // namespace tandem
