#include "base/flags.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include <strings.h>

#include "tandem/error.h"

namespace tandem {
namespace {

[[noreturn]] void reject(const char* name, const std::string& value, const char* wanted) {
  throw ValueError(std::string(name) + "=" + value + ": " + wanted + " is expected.");
}

bool one_of(const std::string& value, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (strcasecmp(value.c_str(), word) == 0) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> env_string(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return std::string(value);
}

int64_t env_int(const char* name, int64_t fallback) {
  const auto value = env_string(name);
  if (!value) return fallback;
  int64_t number = 0;
  const char* end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, number);
  if (error != std::errc() || stop != end) reject(name, *value, "a whole number");
  return number;
}

double env_double(const char* name, double fallback) {
  const auto value = env_string(name);
  if (!value) return fallback;
  double number = 0;
  const char* end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) {
    reject(name, *value, "a number");
  }
  return number;
}

bool env_bool(const char* name, bool fallback) {
  const auto value = env_string(name);
  if (!value) return fallback;
  if (one_of(*value, {"1", "true", "yes", "on"})) return true;
  if (one_of(*value, {"0", "false", "no", "off"})) return false;
  reject(name, *value, "0 or 1");
}

bool strict_tf() { return env_bool("TANDEM_STRICT_TF", false); }

}  // namespace tandem
