// check_plan(): what an executable takes for granted of a plan that comes from outside:
// that every place lies inside of its memory, that steps are those of the graph in an
// order in which they can run, and that kernels find their operands on their own device.
// Pure; any thread.
#pragma once

#include "plan/plan.h"

namespace tandem {

/// Throws DataLossError. The plans of branches and loops are checked against the graphs
/// they belong to; they have been checked for themselves.
void check_plan(const PlannedGraph& planned);

}  // namespace tandem
