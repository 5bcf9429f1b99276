// Sums and conjunctions of many single numbers, as optimizers write them for hundreds of
// gradients (global norms, checks for finite numbers), in the form that takes few
// kernels. Pure; one thread.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace tandem {

/// a + b + c + … of single numbers, added from the left, becomes AddN, which adds in the
/// same order in one kernel. Nothing when there is no such sum.
std::optional<Graph> gather_sums(const Graph& graph);

/// All(x) becomes a minimum of 0 and 1, which fused programs can compute; packs of such
/// results stay numbers until the end. Nothing when there is no All.
std::optional<Graph> lower_all(const Graph& graph);

}  // namespace tandem
