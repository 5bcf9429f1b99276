// Prepared fused kernels: the groups of a call, their code, and how the work is cut.
// Items are stretches of tiles of one group; threads take consecutive items of about the
// same weight. Where reductions combine partial results, an item is a part, and parts
// depend on sizes alone. Immutable after prepare.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/fused_code.h"
#include "op/kernel.h"

namespace tandem::cpu {

struct FusedGroup {
  uint32_t code = 0;
  uint32_t parts = 1;  // items of this group, where it has partial results
  int64_t tiles = 0;
  int64_t tiles_per_row = 1;  // more than one: tiles are pieces of rows
  int64_t partial_bytes = 0;  // of one part
  int64_t partials = 0;       // offset of the first part in the workspace
  FusedGeometry geometry;
};

struct FusedItem {
  uint32_t group, part;
  int64_t begin, end;  // tiles
  int64_t weight;      // of all items before
};

/// What it takes to walk several groups in one loop. Elementwise programs may, over
/// groups whose every full input and output begins where that of the group before ends
/// (an optimizer's variables, slots and gradients), and that share their single elements.
/// How memory lies is known at launch.
struct FusedJoin {
  FusedGroup whole;  // code and geometry for all groups as one
  /// By group and pointer: bytes to that of the next group; kNever where the two have
  /// different forms.
  std::vector<int64_t> input_steps, output_steps;
  std::vector<char> flat;      // by group: it may be part of a loop
  std::vector<int64_t> first;  // by group: elements of those before
  static constexpr int64_t kNever = INT64_MIN;
};

struct FusedPlan {
  int32_t inputs = 0, outputs = 0;  // of one group
  std::vector<FusedCode> codes;
  std::vector<FusedGroup> groups;
  std::vector<FusedItem> items;
  std::optional<FusedJoin> join;
  int64_t weight = 0;  // of all items, in additions of elements
  int max_threads = 1;
  bool reduces = false;     // there are column or all reductions
  int64_t store_bytes = 0;  // of the row store of one thread
  int64_t stores = 0;       // offset of the row stores in the workspace
  size_t workspace_bytes = 0;
};

/// Where reduction `index` of a group keeps its accumulators within a part, and behind
/// them its lanes.
int64_t fused_partial_offset(const FusedCode& code, const FusedGeometry& geometry,
                             size_t index);

/// Nothing when a group cannot be run.
std::optional<FusedPlan> plan_fused(const Signature& signature);

/// Runs items [first, last); `store` is the thread's row store.
void run_fused_items(const FusedPlan& plan, const LaunchArgs& args, size_t first,
                     size_t last, std::byte* store);

}  // namespace tandem::cpu
