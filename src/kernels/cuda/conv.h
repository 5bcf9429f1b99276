// Convolutions by tiles (device/conv.cuh): their text, and plans for those who need them
// where a library has nothing. Plans are made in prepare() and immutable; any thread.
#pragma once

#include <string>

#include "kernels/cuda/conv_case.h"
#include "kernels/cuda/program.h"

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

struct TilesPlan {
  ConvCase conv;
  Function function, add_parts;
  Grid grid;
  int64_t out_elements = 0;
  size_t element = 4;
  size_t workspace_bytes = 0;
  bool nothing = false;  // no element to compute from: zeros
};
/// Whether a grid can have as many blocks as it needs.
bool tiles_fit(const ConvCase& c);
TilesPlan plan_tiles(const Signature& s, const ConvCase& c);
void run_tiles(const TilesPlan& p, const LaunchArgs& a);

}  // namespace tandem::cuda
