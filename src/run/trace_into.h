// Tracing a function into a sub-graph of the trace under way: branches, loop bodies,
// programs of replicas. One thread, as all tracing.
#pragma once

#include <vector>

#include "base/fn_ref.h"
#include "graph/subgraph.h"

namespace tandem {

/// Runs `body` with `sub` as the thread's trace, and notes what it returns as the results
/// of `sub`. Tapes outside hear nothing of it; eager tensors that one of them watches
/// become operands, so that gradients reach them. Throws TypeError for results that are
/// no tensors.
std::vector<Tensor> trace_into(Subgraph& sub, FnRef<std::vector<Tensor>()> body);

/// Throws TypeError for an undefined tensor or a variable; `what`: who returned them.
void check_results(const char* what, const std::vector<Tensor>& results);

}  // namespace tandem
