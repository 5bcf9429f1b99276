// Gradients of nodes with sub-graphs. A branch gets a gradient branch under the same
// selector, and what that needs of the branch becomes more results of the node. A loop
// collects what its gradient needs in lists, one element per turn, and the gradient loop
// takes them off again in reverse. The forward node is changed in place: outputs and, for
// loops, inputs are added, so that it computes what is needed when it is.
#pragma once

#include <span>
#include <vector>

#include "graph/subgraph.h"
#include "tandem/gradient.h"

namespace tandem {

struct NodeGradient {
  /// One per input of the node as it was when asked; undefined where unconnected.
  std::vector<Gradient> operands;
  /// The outputs of the node that the gradient reads, new ones among them.
  std::vector<int32_t> read_outputs;
  /// The gradient node, in the thread's trace; node -1 when nothing is connected.
  ControlFlowNode backward;
};

/// What is asked of a kIf, kCase, kCall or kWhile of `owner`.
struct NodeQuestion {
  Tracer& owner;
  int32_t node;
  /// The tensors of the node's inputs, and of its outputs as far as there are any. Tapes
  /// know values by their tensors, so that the same ones must be used; more are added.
  std::span<const Tensor> operands;
  std::vector<Tensor>& outputs;
  /// One per output, or fewer.
  std::span<const Gradient> output_grads;
  /// One per input.
  std::span<const bool> needs;

  Tensor output(int32_t i) const;
};

/// The gradient of a node, emitted into the thread's trace, which is `owner` or nested in
/// it.
NodeGradient control_flow_gradient(const NodeQuestion& question);

/// A copy that begins with what loops need (LoopSeeds) where it contains any; `values`
/// are mapped to the copy.
Graph with_loop_seeds(const Graph& graph, std::vector<ValueRef>& values);

// The kinds; a call with a gradient of its own is the last.
NodeGradient branch_gradient(const NodeQuestion& question);
NodeGradient loop_gradient(const NodeQuestion& question);
NodeGradient custom_call_gradient(const NodeQuestion& question);

}  // namespace tandem
