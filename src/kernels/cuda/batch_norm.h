// What batch normalisation and its gradient share where channels come last: x is [rows,
// channels], and channels fill whole vectors of 16 bytes. Sizes, grids and texts; pure.
#pragma once

#include <initializer_list>
#include <string>

#include "kernels/cuda/program.h"
#include "tandem/ops/nn_conv.h"

namespace tandem::cuda {

/// As device/channel_rows.cuh has it.
struct Rows {
  int64_t rows = 0, vectors = 0, parts = 1, whole = 0, rest = 0;
  int width = 1, aligned = 1;
};
/// Sums, numbers for each channel from them, and what is done with those.
struct RowsPlan {
  Function sums, finish, apply;
  Rows sizes;
  Grid sum_grid, finish_grid, apply_grid;
  int64_t apply_parts = 1;
  size_t numbers_at = 0, workspace_bytes = 0;  // parts of sums, then the numbers
};

/// Whether there are kernels for x and vectors over its channels.
bool rows_fit(const TensorInfo& x, const TensorInfo& vector, nn::DataFormat format);
/// `resident`: blocks of sums that a multiprocessor has at once.
RowsPlan plan_rows(const Signature& s, const TensorInfo& x, nn::DataFormat format,
                   int resident);

int all_aligned(std::initializer_list<const void*> addresses);

/// How the gradient finds out where relu's result was positive: see
/// device/batch_norm_grad.cuh.
enum class NormMask { kNone, kByX, kByY };
struct NormGradForm {
  NormMask mask = NormMask::kNone;
  bool two = false, kept = false;
};
int resident_sums(DType dtype, const NormGradForm& form = {});
std::string batch_norm_text(DType dtype);
std::string batch_norm_grad_text(DType dtype, const NormGradForm& form);

}  // namespace tandem::cuda
