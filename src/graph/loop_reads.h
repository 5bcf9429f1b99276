// Reads of variables that a loop does not write: every turn reads the same, so that the
// loop is given the value, read once before it, as one more operand. Gradients then find
// an invariant there instead of a value to be kept for every turn. One thread.
#pragma once

#include <span>

#include "graph/subgraph.h"

namespace tandem {

/// For the condition or the body of a loop, closed and not yet part of a node; `written`:
/// the variables that the body writes.
void read_before_loop(Tracer& outer, Subgraph& sub, std::span<const Tensor> written);

}  // namespace tandem
