// Hashing of small keys made of 64-bit words, and of bytes. Stable across processes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tandem {

inline uint64_t hash_mix(uint64_t a, uint64_t b) {
  const __uint128_t m =
      static_cast<__uint128_t>(a ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xd1b54a32d192ed03ull);
  return static_cast<uint64_t>(m) ^ static_cast<uint64_t>(m >> 64);
}

inline uint64_t hash_words(const uint64_t* words, size_t n, uint64_t seed = 0) {
  uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull);
  size_t i = 0;
  for (; i + 1 < n; i += 2) h = hash_mix(words[i] ^ h, words[i + 1]);
  if (i < n) h = hash_mix(words[i] ^ h, 0x2545f4914f6cdd1dull);
  return h;
}

inline uint64_t hash_bytes(std::string_view s, uint64_t seed = 0) {
  uint64_t h = seed ^ s.size();
  while (s.size() >= 8) {
    uint64_t w;
    std::memcpy(&w, s.data(), 8);
    h = hash_mix(h, w);
    s.remove_prefix(8);
  }
  uint64_t tail = 0;
  if (!s.empty()) std::memcpy(&tail, s.data(), s.size());
  return hash_mix(h, tail);
}

}  // namespace tandem
