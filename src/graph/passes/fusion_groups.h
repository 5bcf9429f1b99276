// FusionGroups: which nodes of a graph run the same program over independent inputs, and
// so may be one kernel. Pure; one thread.
#pragma once

#include "graph/passes/fusion_layout.h"
#include "graph/passes/fusion_rewrite.h"

namespace tandem {

/// A node that can be one group of a FusedMulti.
struct FusionGroup {
  int32_t node = -1;
  int64_t elements = 0;
  bool updates = false;  // a result goes into a variable
  std::vector<FusionReplacement::Input> inputs;
  std::vector<FusionReplacement::Output> outputs;
};

/// Independent nodes of one program.
struct FusionLevel {
  std::string program;
  std::vector<FusionGroup> groups;
};

/// Levels of two nodes and more that are worth a kernel together. Making them all nodes
/// at once closes no cycle.
std::vector<FusionLevel> find_fusion_levels(const FusionGraph& graph,
                                            FusionPlanner& planner);

}  // namespace tandem
