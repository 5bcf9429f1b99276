// Code points from and to bytes. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::cpu {

enum class Encoding { kUtf8, kUtf16, kUtf32 };  // the last two big-endian
Encoding encoding_of(std::string_view name);

struct CodePoint {
  int32_t value = -1;  // -1: the bytes are wrong
  size_t bytes = 1;    // how many it takes
};
/// The first character of `s`, which is not empty.
CodePoint next_code_point(std::string_view s, Encoding encoding);
void append_code_point(std::string& out, int32_t value, Encoding encoding);

/// Characters of UTF-8, counting bytes that begin one.
int64_t utf8_length(std::string_view s);

}  // namespace tandem::cpu
