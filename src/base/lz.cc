// A stream of (literal count, literals, match length, distance), counts as base-128
// numbers. A match may reach back into the dictionary, which stands before the data. The
// last one has length 0 and no distance.
#include "base/lz.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tandem {

namespace {

constexpr size_t kLeast = 5;  // shorter matches cost as much as they save
constexpr int kTries = 48;    // earlier places with the same beginning that are looked at

uint32_t slot_of(const char* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  return (word * 2654435761u) >> 16;
}

void put(std::vector<char>& out, size_t number) {
  for (; number >= 128; number >>= 7) {
    out.push_back(static_cast<char>(number & 127) | static_cast<char>(-128));
  }
  out.push_back(static_cast<char>(number));
}

bool get(std::span<const char> in, size_t& at, size_t& number) {
  number = 0;
  for (int shift = 0; at < in.size() && shift < 63; shift += 7) {
    const auto byte = static_cast<uint8_t>(in[at++]);
    number |= static_cast<size_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

}  // namespace

std::vector<char> lz_pack(std::span<const char> data, std::span<const char> dictionary) {
  std::vector<char> all(dictionary.begin(), dictionary.end());
  all.insert(all.end(), data.begin(), data.end());
  // Places with the same slot, latest first.
  std::vector<int64_t> head(1 << 16, -1), before(all.size(), -1);
  const auto note = [&](size_t at) {
    if (at + 4 > all.size()) return;
    int64_t& first = head[slot_of(&all[at])];
    before[at] = first;
    first = static_cast<int64_t>(at);
  };
  size_t at = 0;
  for (; at < dictionary.size(); ++at) note(at);
  std::vector<char> out;
  size_t literals = at;  // where they begin
  while (at < all.size()) {
    size_t length = 0, distance = 0;
    if (at + kLeast <= all.size()) {
      int64_t from = head[slot_of(&all[at])];
      for (int i = 0; i < kTries && from >= 0; ++i) {
        const auto start = static_cast<size_t>(from);
        const size_t same = static_cast<size_t>(
            std::mismatch(all.begin() + static_cast<std::ptrdiff_t>(at), all.end(),
                          all.begin() + from)
                .first -
            (all.begin() + static_cast<std::ptrdiff_t>(at)));
        if (same > length) {
          length = same;
          distance = at - start;
        }
        from = before[start];
      }
    }
    if (length < kLeast) {
      note(at++);
      continue;
    }
    put(out, at - literals);
    out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(literals),
               all.begin() + static_cast<std::ptrdiff_t>(at));
    put(out, length);
    put(out, distance);
    for (const size_t end = at + length; at < end; ++at) note(at);
    literals = at;
  }
  put(out, at - literals);
  out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(literals), all.end());
  put(out, 0);
  return out;
}

bool lz_unpack(std::span<const char> packed, std::span<const char> dictionary,
               std::span<char> data) {
  size_t in = 0, out = 0;
  while (true) {
    size_t literals = 0, length = 0, distance = 0;
    if (!get(packed, in, literals)) return false;
    if (literals > packed.size() - in || literals > data.size() - out) return false;
    std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(in), literals,
                data.begin() + static_cast<std::ptrdiff_t>(out));
    in += literals;
    out += literals;
    if (!get(packed, in, length)) return false;
    if (length == 0) return out == data.size() && in == packed.size();
    if (!get(packed, in, distance)) return false;
    if (distance == 0 || distance > out + dictionary.size() ||
        length > data.size() - out) {
      return false;
    }
    // Byte by byte: a match may overlap what it makes.
    for (; length > 0; --length, ++out) {
      data[out] = distance <= out ? data[out - distance]
                                  : dictionary[dictionary.size() + out - distance];
    }
  }
}

}  // namespace tandem
