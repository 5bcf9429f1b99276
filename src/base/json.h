// Text of JSON that anybody may have written. Any thread.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace tandem {

/// Parses a text. Throws json::exception, also for values nested more than
/// kMostJsonLevels deep: whoever copies or prints a value goes down by recursion.
nlohmann::json parse_json(std::string_view text);

/// Above what the deepest graph takes: graph/stored_graph.h bounds the graphs in graphs,
/// each of which adds four levels.
inline constexpr int kMostJsonLevels = 512;

}  // namespace tandem
