// Runs a graph node by node with the eager dispatcher: the reference that compiled
// execution is compared with.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace tandem {

std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> arguments);

}  // namespace tandem
