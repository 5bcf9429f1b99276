#include "kernels/cpu/csv_line.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "tandem/dtype.h"
#include "tandem/error.h"

namespace tandem::cpu {

void csv_fail(const std::string& message) {
  throw InvalidArgumentError("DecodeCSV: " + message);
}

std::vector<std::string> csv_fields(std::string_view line, char delimiter, bool quotes) {
  std::vector<std::string> fields;
  std::string field;
  size_t at = 0;
  while (true) {
    field.clear();
    if (quotes && at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size())
          csv_fail("Quoted field has to end with quote followed by delim or end");
        if (line[at] != '"') {
          field += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field += line[at++];
        } else {
          break;
        }
      }
      ++at;
      if (at < line.size() && line[at] != delimiter) {
        csv_fail("Quoted field has to end with quote followed by delim or end");
      }
    } else {
      for (; at < line.size() && line[at] != delimiter; ++at) {
        if (quotes && line[at] == '"') {
          csv_fail("Unquoted fields cannot have quotes/CRLFs inside");
        }
        field += line[at];
      }
    }
    fields.push_back(field);
    if (at >= line.size()) return fields;
    ++at;
  }
}

template <class T>
T csv_number(std::string_view field, size_t column) {
  T v{};
  const char *begin = field.data(), *end = begin + field.size();
  while (begin < end && *begin == ' ') ++begin;
  while (end > begin && end[-1] == ' ') --end;
  if (begin < end && *begin == '+') ++begin;
  const auto [stop, error] = std::from_chars(begin, end, v);
  if (error != std::errc() || stop != end) {
    csv_fail(fmt::format("Field {} in record is not a valid {}: {}", column,
                         dtype_name(dtype_of<T>), field));
  }
  return v;
}

template float csv_number<float>(std::string_view, size_t);
template double csv_number<double>(std::string_view, size_t);
template int32_t csv_number<int32_t>(std::string_view, size_t);
template int64_t csv_number<int64_t>(std::string_view, size_t);

}  // namespace tandem::cpu
