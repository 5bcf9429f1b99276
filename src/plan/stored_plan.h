// Planned graphs as bytes: the graph with the copies that the planner added, its plan,
// and those of its branches and loops. What is loaded equals what was stored and runs
// without being planned again: kernels are found by their names and prepared anew, so
// that it needs a machine with the same devices and kernels. Any thread.
//
//   "TDMPLAN1"  header bytes u64  binary bytes u64  checksum u64
//   header: JSON    binary: graphs (graph/serialize.h)
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "graph/serialize.h"
#include "plan/plan.h"

namespace tandem {

std::string to_bytes(const PlannedGraph& planned);

/// `variables` is asked once for each variable, in order of StoredVariable::index. Throws
/// DataLossError for bytes that are damaged or were never a plan, and what from_bytes
/// throws for graphs.
std::shared_ptr<const PlannedGraph> planned_from_bytes(
    std::string_view bytes, const VariableLoader& variables = nullptr);

}  // namespace tandem
