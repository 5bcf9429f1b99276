#include <algorithm>

#include "graph/passes/fusion.h"
#include "graph/verify.h"
#include "kernels/cpu/fused.h"

namespace tandem {

FusionTarget cpu_fusion_target() {
  FusionTarget target;
  target.can_fuse = cpu::can_fuse;
  target.can_reduce = cpu::can_fuse_reduction;
  return target;
}

Graph fuse(const Graph& graph, const FusionTarget& target, FusionNotes* notes) {
  const auto checked = [](Graph g) {
#ifndef NDEBUG
    verify(g);
#endif
    return g;
  };
  Graph ended = checked(fuse_epilogue(graph, notes, target.end_allowed));
  if (target.norm_end_allowed) {
    ended = checked(fuse_norm(ended, notes, target.norm_end_allowed));
    ended = checked(fuse_norm_grad(ended, notes, target.norm_end_allowed));
  }
  if (target.loss_allowed) ended = checked(fuse_loss(ended, notes, target.loss_allowed));
  const Graph chained = checked(fuse_elementwise(ended, target, notes));
  return checked(fuse_horizontal(chained, target, notes));
}

bool launches_kernel(const Node& node) {
  static constexpr std::string_view kFree[] = {
      "ReadVariableOp", "AssignVariableOp", "Reshape",  "ReshapeLike",
      "ExpandDims",     "Squeeze",          "Identity", "StopGradient"};
  return node.kind == Node::Kind::kOp &&
         std::find(std::begin(kFree), std::end(kFree), node.op->name) == std::end(kFree);
}

int64_t count_kernels(const Graph& graph) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(), launches_kernel);
}

}  // namespace tandem
