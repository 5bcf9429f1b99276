// Where a plan needs most of a device's arena: the step at which the values that are
// alive together are largest, and which they are. Worked out for messages only. Pure; any
// thread.
#pragma once

#include "plan/plan.h"

namespace tandem {

struct PeakValue {
  int32_t node = -1;
  int32_t output = -1;  // -1: the workspace of the node's kernel
  int64_t bytes = 0;
};

struct Peak {
  int32_t step = -1;  // -1: the arena is empty
  int64_t bytes = 0;
  std::vector<PeakValue> values;  // largest first
};

/// Steps count as running in the order in which they are listed.
Peak find_peak(const PlannedGraph& planned, int32_t space);

/// The largest `most` values of the peak as lines: size, node, dtype, shape, the user's
/// line; "" when there are none.
std::string peak_text(const PlannedGraph& planned, int32_t space, size_t most);

}  // namespace tandem
