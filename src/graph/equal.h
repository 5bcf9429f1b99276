// Equality of graphs: the same nodes in the same order with the same names, attributes,
// inputs, infos and sub-graphs; constants by dtype, shape and contents, variables by
// identity. A pure function; any thread.
#pragma once

#include "graph/graph.h"

namespace tandem {

bool equal(const Graph& a, const Graph& b);

}  // namespace tandem
