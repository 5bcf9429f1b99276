#include "base/json.h"

#include <fmt/format.h>

namespace tandem {

namespace {

using nlohmann::json;

// Counts brackets outside of strings. In a text that is no JSON the parser stops at the
// first error, up to which the count is right.
void check_levels(std::string_view text) {
  int level = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      i += c == '\\';
    } else if (c == '[' || c == '{') {
      if (++level <= kMostJsonLevels) continue;
      throw json::other_error::create(
          502,
          fmt::format("values are nested deeper than {} at byte {}", kMostJsonLevels, i),
          nullptr);
    } else if (c == ']' || c == '}') {
      --level;
    }
  }
}

}  // namespace

json parse_json(std::string_view text) {
  check_levels(text);
  return json::parse(text);
}

}  // namespace tandem
