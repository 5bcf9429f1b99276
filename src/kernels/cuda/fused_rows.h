// A prepared fused program over one domain: an elementwise plan, or kernels over rows and
// columns with their workspace; and one program over many groups, elementwise or with
// sums of columns. Made in prepare(), launched from any thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/fused_text.h"

namespace tandem::cuda {

struct FusedPlan {
  std::optional<ElementwisePlan> elementwise;
  Function rows, columns, finish_columns, all, finish_all;  // null: not needed
  Function wide;  // instead of `columns` where tensors begin at multiples of 16 bytes
  FusedForm form;
  int64_t row_count = 0, column_count = 0, parts = 1;
  int inputs = 0, outputs = 0;
  FusedWords places{0, 0, 0, 0};
  std::vector<uint64_t> words;
  size_t columns_at = 0, all_at = 0;  // in the workspace; row values come first
  std::shared_ptr<ErrorSite> site;
  size_t workspace_bytes = 0;
};
FusedPlan plan_fused(Device* device, const FusedProgram& program,
                     std::span<const Shape> inputs, std::span<const Shape> outputs);
void run_fused(const FusedPlan& plan, const StreamContext& stream, void* const* inputs,
               void* const* outputs, void* workspace);

/// Groups of one program that only adds up columns, several to a launch.
struct MultiColumnsPlan {
  std::vector<FusedPlan> groups;  // `workspace` counts from workspace_at
  std::vector<size_t> workspace_at;
  size_t workspace_bytes = 0;
};
/// Nothing when the groups do not have one form.
std::optional<MultiColumnsPlan> plan_multi_columns(Device* device,
                                                   const FusedProgram& program,
                                                   std::span<const Shape> inputs,
                                                   std::span<const Shape> outputs,
                                                   int64_t groups);
void run_multi_columns(const MultiColumnsPlan& plan, const StreamContext& stream,
                       void* const* inputs, void* const* outputs, void* workspace);

/// Groups of one elementwise program, several to a launch.
struct MultiPlan {
  Function function;
  int inputs = 0, outputs = 0;
  std::vector<int64_t> counts;  // elements of each group
  CUdeviceptr flags = 0;
  int words = 0;  // of the argument
};
/// Nothing when the groups do not have one form: each is then a plan of its own.
std::optional<MultiPlan> plan_multi(Device* device, const FusedProgram& program,
                                    std::span<const Shape> inputs,
                                    std::span<const Shape> outputs, int64_t groups);
void run_multi(const MultiPlan& plan, const StreamContext& stream, void* const* inputs,
               void* const* outputs);

}  // namespace tandem::cuda
