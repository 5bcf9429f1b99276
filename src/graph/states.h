// Whose state a state value is, and inference that knows it. Pure functions; any thread.
#pragma once

#include <span>

#include "graph/graph.h"

namespace tandem {

/// The variable whose state `state` is, found by following the chain of writes back to
/// where it begins. Throws InternalError for a value that is no state.
Tensor variable_handle(const Graph& graph, ValueRef state);

/// The state that output `output` of a node was made of, in the node's own graph; nothing
/// for nodes at which chains begin.
ValueRef previous_state(const Node& node, int32_t output);

/// The operands of a node with sub-graphs: its inputs, without what chooses a branch.
std::span<const ValueRef> operands_of(const Node& node);

/// Infers the outputs of an op node whose inputs are values of `graph` of which `infos`
/// is known. An op that replaces the whole contents of a variable is checked against the
/// declared shape, not against that of the present contents.
std::vector<ValueInfo> infer_node(const Graph& graph, const Node& node,
                                  std::span<const ValueInfo> infos);

/// What holds for both values: dimensions and elements that differ become unknown.
ValueInfo join_infos(const ValueInfo& a, const ValueInfo& b);

}  // namespace tandem
