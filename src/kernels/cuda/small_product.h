// The texts of kernels for small products and for those with a long inner dimension; see
// device/small_product.cuh and device/split_product.cuh. Pure; any thread.
#pragma once

#include <string>

#include "kernels/cuda/product_end.h"

namespace tandem::cuda {

struct SmallForm {
  bool transpose_a = false, transpose_b = false;
  bool tensor_cores = true;
  int tiles = 1;  // of 8 columns, per block
  int warps = 4;  // that share the inner dimension
};

std::string small_product_text(DType dtype, const SmallForm& form, const ProductEnd& end);
std::string split_product_text(DType dtype, const SmallForm& form, const ProductEnd& end);

}  // namespace tandem::cuda
