// Environment variables that Tandem reads, each parsed in one place. Values are read when
// asked, so tests may change the environment before the runtime is initialised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

std::optional<std::string> env_string(const char* name);
/// Throws ValueError when the variable is set and not a whole number.
int64_t env_int(const char* name, int64_t fallback);
double env_double(const char* name, double fallback);
/// 1, true, yes, on.
bool env_bool(const char* name, bool fallback);

/// TANDEM_STRICT_TF=1: TensorFlow's rule where Tandem's default is another.
bool strict_tf();

}  // namespace tandem
