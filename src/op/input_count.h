// How many inputs a call may have. Every call is asked before anything looks at its
// inputs: eager, traced and loaded ones. Pure; any thread.
#pragma once

#include <cstddef>

namespace tandem {

struct OpDef;

/// Throws InvalidArgumentError when the op takes another number of inputs.
void check_input_count(const OpDef& op, size_t given);

}  // namespace tandem
