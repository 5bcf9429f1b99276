// A prepared reduction over some axes: kernels, sizes and steps. Made in prepare(),
// launched from any thread.
#pragma once

#include <array>
#include <span>

#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

struct ReducePlan {
  Function main, parts;
  Function wide;  // instead of `main` where the input begins at a multiple of 16 bytes
  Grid grid, wide_grid, parts_grid;
  int64_t outputs = 0;
  std::array<uint64_t, 8 + 4 * kMaxRank> words{};
  size_t workspace_bytes = 0;
};

/// `op`: the name in the table ("Sum"); `reduced[i]`: whether dimension i goes away.
ReducePlan plan_reduction(Device* device, const std::string& op, DType dtype,
                          const Shape& shape, std::span<const bool> reduced);
void run_reduction(const ReducePlan& plan, const LaunchArgs& a);

/// T and a reducer by the op's name, for programs that combine elements in their own way.
std::string reducer_text(const std::string& op, DType dtype);
/// The text of a reduction program.
std::string reduce_text(const std::string& op, DType dtype, int kept, int reduced,
                        bool wide);
/// The same for ArgMax and ArgMin.
std::string arg_text(bool largest, DType dtype, DType index);

}  // namespace tandem::cuda
