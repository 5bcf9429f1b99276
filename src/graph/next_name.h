// The names that a front gives to traced ops of this thread: `name=` arguments and
// scopes.
#pragma once

#include <string>

namespace tandem {

/// Only the next one, whatever it is; without a trace nothing is named.
/// A name that ends with '/' is the whole name, without those of the scopes around.
void name_next_op(std::string name);

/// What the names of traced ops begin with, "a/b/"; returns what it was.
std::string set_name_prefix(std::string prefix);

}  // namespace tandem
