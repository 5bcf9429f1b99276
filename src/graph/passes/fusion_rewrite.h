// Puts fused nodes in the place of the nodes that they compute: the last step of every
// fusion pass. Free nodes (reshapes, broadcasts) are made again where somebody still
// looks at them, and what nobody needs any more is left out. Pure; one thread.
#pragma once

#include <functional>

#include "graph/passes/fusion.h"
#include "graph/passes/fusion_graph.h"

namespace tandem {

/// One node of the new graph, and the old ones that it stands for.
struct FusionReplacement {
  struct Input {
    ValueRef value;  // of the old graph; an absent one stays absent
    Shape shape;     // as the new node wants it: a view where it differs
  };
  struct Output {
    std::vector<ValueRef> values;  // of the old graph, all the same
    DType dtype;
    Shape shape;  // as the new node gives it; views where the old ones differ
  };
  std::vector<int32_t> members;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  const OpDef* op = nullptr;
  Attrs attrs;
  std::string name;
  std::string note;
};

/// What is done with the sub-graphs of nodes that stay.
using SubgraphPass = std::function<Graph(const Graph&)>;

Graph rewrite_fused(const FusionGraph& graph,
                    const std::vector<FusionReplacement>& replacements,
                    const SubgraphPass& subgraphs, FusionNotes* notes);

}  // namespace tandem
