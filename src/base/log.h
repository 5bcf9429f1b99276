// Log lines to standard error through spdlog; level from TANDEM_LOG (debug, info, warn,
// error). Any thread.
#pragma once

#include <string_view>

namespace tandem::logging {

enum class Level { kDebug, kInfo, kWarn, kError };

void write(Level level, std::string_view message);
inline void debug(std::string_view m) { write(Level::kDebug, m); }
inline void info(std::string_view m) { write(Level::kInfo, m); }
inline void warn(std::string_view m) { write(Level::kWarn, m); }
inline void error(std::string_view m) { write(Level::kError, m); }

/// Placement lines and the like: written at any level, and to a test's sink when one is
/// set.
void line(std::string_view message);
/// Receives every line() instead of standard error; nullptr restores. For tests.
void set_line_sink(void (*sink)(std::string_view));

}  // namespace tandem::logging
