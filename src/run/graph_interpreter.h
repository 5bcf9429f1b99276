// Runs a graph node by node with the eager dispatcher, in the order of its nodes: the
// reference that optimised and planned execution is compared with. States of variables
// are values here; the variables themselves change only at the end, so that a graph that
// fails leaves them as they were. Any thread; nothing is recorded on tapes.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace tandem {

/// Arguments in the order of parameters; parameters that are states have none here.
/// Throws InvalidArgumentError when their number is wrong. An absent result gives an
/// undefined tensor.
std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> arguments);

/// Runs one op node on concrete inputs: what constant folding asks for.
std::vector<Tensor> interpret_node(const Node& node, std::span<const Tensor> inputs);

}  // namespace tandem
