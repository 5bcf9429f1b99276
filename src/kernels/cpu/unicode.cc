#include "kernels/cpu/unicode.h"

namespace tandem::cpu {

namespace {

constexpr int32_t kLast = 0x10ffff;
bool is_surrogate(int32_t c) { return c >= 0xd800 && c < 0xe000; }
uint8_t byte(std::string_view s, size_t i) { return static_cast<uint8_t>(s[i]); }

CodePoint next_utf8(std::string_view s) {
  const uint8_t lead = byte(s, 0);
  if (lead < 0x80) return {lead, 1};
  const size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return {-1, 1};
  int32_t value = lead & (0xff >> (n + 1));
  for (size_t i = 1; i < n; ++i) {
    if (i >= s.size() || (byte(s, i) & 0xc0) != 0x80) return {-1, i};
    value = value << 6 | (byte(s, i) & 0x3f);
  }
  constexpr int32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[n] || is_surrogate(value) || value > kLast) return {-1, 1};
  return {value, n};
}

CodePoint next_utf16(std::string_view s) {
  if (s.size() < 2) return {-1, s.size()};
  const int32_t high = byte(s, 0) << 8 | byte(s, 1);
  if (!is_surrogate(high)) return {high, 2};
  if (high >= 0xdc00 || s.size() < 4) return {-1, 2};
  const int32_t low = byte(s, 2) << 8 | byte(s, 3);
  if (low < 0xdc00 || low >= 0xe000) return {-1, 2};
  return {0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 4};
}

CodePoint next_utf32(std::string_view s) {
  if (s.size() < 4) return {-1, s.size()};
  const uint32_t v = static_cast<uint32_t>(byte(s, 0)) << 24 |
                     static_cast<uint32_t>(byte(s, 1)) << 16 |
                     static_cast<uint32_t>(byte(s, 2)) << 8 | byte(s, 3);
  const bool fine =
      v <= static_cast<uint32_t>(kLast) && !is_surrogate(static_cast<int32_t>(v));
  return {fine ? static_cast<int32_t>(v) : -1, 4};
}

}  // namespace

Encoding encoding_of(std::string_view name) {
  return name == "UTF-16-BE"   ? Encoding::kUtf16
         : name == "UTF-32-BE" ? Encoding::kUtf32
                               : Encoding::kUtf8;
}

CodePoint next_code_point(std::string_view s, Encoding encoding) {
  switch (encoding) {
    case Encoding::kUtf16:
      return next_utf16(s);
    case Encoding::kUtf32:
      return next_utf32(s);
    case Encoding::kUtf8:
      break;
  }
  return next_utf8(s);
}

void append_code_point(std::string& out, int32_t v, Encoding encoding) {
  const auto put = [&out](int32_t b) { out += static_cast<char>(b & 0xff); };
  if (encoding == Encoding::kUtf32) {
    for (int shift = 24; shift >= 0; shift -= 8) put(v >> shift);
  } else if (encoding == Encoding::kUtf16) {
    const auto unit = [&put](int32_t u) {
      put(u >> 8);
      put(u);
    };
    if (v >= 0x10000) {
      unit(0xd800 + ((v - 0x10000) >> 10));
      unit(0xdc00 + ((v - 0x10000) & 0x3ff));
    } else {
      unit(v);
    }
  } else if (v < 0x80) {
    put(v);
  } else if (v < 0x800) {
    put(0xc0 | v >> 6);
    put(0x80 | (v & 0x3f));
  } else if (v < 0x10000) {
    put(0xe0 | v >> 12);
    put(0x80 | (v >> 6 & 0x3f));
    put(0x80 | (v & 0x3f));
  } else {
    put(0xf0 | v >> 18);
    put(0x80 | (v >> 12 & 0x3f));
    put(0x80 | (v >> 6 & 0x3f));
    put(0x80 | (v & 0x3f));
  }
}

int64_t utf8_length(std::string_view s) {
  int64_t n = 0;
  for (const char c : s) n += (static_cast<uint8_t>(c) & 0xc0) != 0x80;
  return n;
}

}  // namespace tandem::cpu
