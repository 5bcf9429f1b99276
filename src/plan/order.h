// Order: in which sequence the nodes of a placed graph are given to their lanes, and what
// waits for what. Work for devices goes out as soon as it can, so that the CPU's work
// overlaps it; writes to variables come after all reads of the old value and after
// everything that may fail (a failed step leaves variables unchanged). Pure; any thread.
#pragma once

#include <vector>

#include "plan/assignment.h"
#include "plan/plan.h"

namespace tandem {

struct Order {
  std::vector<int32_t> nodes;  // every node that does work, in order of issue
  /// By node: the assigned value is computed directly in the variable's memory.
  std::vector<char> assign_in_place;
  /// Reads of variables whose contents are wanted after the variable has been written:
  /// when there are any, nothing else is set; copy them and ask again.
  std::vector<int32_t> reads_to_copy;
  /// By node: what must have finished before it, nodes without work included.
  std::vector<std::vector<int32_t>> before;
};

/// `is_step`: whether a node does work at all (by node). `inside`: part of a conditional
/// node, whose kernels come after others that may have failed.
Order order_nodes(const Graph& graph, const Assignment& assignment,
                  const std::vector<char>& is_step, bool inside = false);

}  // namespace tandem
