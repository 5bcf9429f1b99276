// Graphs as GraphDef messages, for TensorBoard's graph page: names, ops, edges, devices
// and shapes, no contents. Any thread.
#pragma once

#include "base/wire.h"
#include "graph/graph.h"

namespace tandem {

/// Nodes of sub-graphs follow their node, with its name in front of theirs.
WireMessage graph_def(const Graph& graph);

/// A RunMetadata message that holds these graphs as functions that ran.
WireMessage run_metadata(const std::vector<const Graph*>& graphs);

}  // namespace tandem
