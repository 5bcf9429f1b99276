// How tapes and accumulators see control flow in a traced function: a node with
// sub-graphs is one op whose way back is a gradient node, which is recorded again, so
// that there are gradients of gradients.
#pragma once

#include "graph/subgraph.h"

namespace tandem {

/// Tells the thread's listeners about a node that has been added to a trace.
void record_control_flow(Tracer& tracer, const ControlFlowNode& node);

}  // namespace tandem
