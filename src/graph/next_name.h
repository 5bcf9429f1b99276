// The name that the next traced op of this thread gets: a front's `name=` argument.
#pragma once

#include <string>

namespace tandem {

/// Only the next one, whatever it is; without a trace nothing is named.
void name_next_op(std::string name);

}  // namespace tandem
