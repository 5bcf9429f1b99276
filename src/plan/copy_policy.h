// What the thread's copy policy says to a copy between devices that a plan would make.
// The user asked for it when an Identity in a device scope needs it; everything else is a
// copy behind the user's back, as in eager code. Pure; any thread.
#pragma once

#include "device/device.h"
#include "graph/graph.h"
#include "tandem/device.h"

namespace tandem {

/// Throws InvalidArgumentError, or warns, as the policy says. `input`: of `node`, which
/// runs on `to` while the value is on `from`; -1: the value is a result wanted there.
void check_planned_copy(CopyPolicy policy, const Node& node, int input,
                        const ValueInfo& value, const Device& from, const Device& to);

}  // namespace tandem
