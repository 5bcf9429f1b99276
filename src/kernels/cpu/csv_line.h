// Fields of one line of comma-separated values (RFC 4180), and numbers from them. Wrong
// ones throw InvalidArgumentError. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::cpu {

/// Throws InvalidArgumentError with the op's name before the message.
[[noreturn]] void csv_fail(const std::string& message);

std::vector<std::string> csv_fields(std::string_view line, char delimiter, bool quotes);

/// T: float, double, int32_t or int64_t. `column` is for the message.
template <class T>
T csv_number(std::string_view field, size_t column);

}  // namespace tandem::cpu
