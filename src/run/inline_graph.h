// A finished graph traced again into the function that is being traced: how a function
// that exists only as a graph is called inside another one. One thread.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace tandem {

/// Adds the nodes of `graph` to the thread's trace, with these tensors as its parameters;
/// returns its results. The thread's tapes hear every op.
std::vector<Tensor> inline_graph(const Graph& graph, std::span<const Tensor> arguments);

}  // namespace tandem
