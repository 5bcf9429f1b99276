// Cheap ops that several kernels read are computed in each of them: reading what a cast
// or a sign change was made from costs no more than reading its result, and the result
// need not be written. Pure; one thread.
#pragma once

#include <optional>

#include "graph/passes/fusion_layout.h"

namespace tandem {

struct CopiedOps {
  Graph graph;
  std::vector<int32_t> copies;  // its nodes that were copied or are copies
};

/// A graph in which every cluster has a copy of its own of the cheap ops that it reads;
/// `cluster` names the cluster of each node. Nothing when there is nothing to copy.
std::optional<CopiedOps> copy_cheap_ops(const FusionPlanner& planner,
                                        std::span<const int32_t> cluster);

}  // namespace tandem
