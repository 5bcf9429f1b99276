// The text of convolutions by tiles; see device/conv.cuh. Pure; any thread.
#pragma once

#include <string>

#include "kernels/cuda/product_end.h"
#include "ops/nn_geometry.h"

namespace tandem::cuda {

/// How a block works, and how many share the inner dimension.
struct ConvForm {
  bool tensor_cores = true;
  int tiles = 4;  // of 8 columns
  int row_warps = 4, inner_warps = 1;
  int parts = 1;
};

std::string conv_text(const nn::ConvShape& conv, DType dtype, const ConvForm& form,
                      const ProductEnd& end);

}  // namespace tandem::cuda
