// verify(): the invariants of a graph, checked after every pass in debug builds and in
// tests. A pure function; any thread.
#pragma once

#include "graph/graph.h"

namespace tandem {

/// States are results of sub-graphs alone.
enum class GraphRole : uint8_t { kFunction, kSubgraph };

/// Throws InternalError that names the node and the invariant:
///  - nodes stand in topological order, inputs and outputs exist, names are unique
///  - an op has as many inputs as its definition says, outputs as inference says, with
///    equal dtypes and compatible shapes
///  - states go where states belong, and every state is written at most once
///  - sub-graphs have one parameter per operand with the same dtype and a compatible
///    shape, and one result per output; a loop's condition gives one bool, its body what
///    is carried
void verify(const Graph& graph, GraphRole role = GraphRole::kFunction);

}  // namespace tandem
