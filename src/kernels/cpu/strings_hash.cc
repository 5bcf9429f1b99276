#include "kernels/cpu/strings_hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace tandem::cpu {

namespace {

constexpr uint64_t kMul0 = 0xc3a5c85c97cb3127ull, kMul1 = 0xb492b66fbe98f273ull,
                   kMul2 = 0x9ae16a3b2f90404full;

uint64_t word(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}
uint64_t half_word(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}
uint64_t rotated(uint64_t v, int by) { return std::rotr(v, by); }
uint64_t fold(uint64_t v) { return v ^ (v >> 47); }

uint64_t mix_pair(uint64_t u, uint64_t v, uint64_t factor) {
  uint64_t a = (u ^ v) * factor;
  a ^= a >> 47;
  uint64_t b = (v ^ a) * factor;
  b ^= b >> 47;
  return b * factor;
}

uint64_t up_to_16(const char* s, size_t n) {
  if (n >= 8) {
    const uint64_t factor = kMul2 + n * 2;
    const uint64_t a = word(s) + kMul2, b = word(s + n - 8);
    const uint64_t c = rotated(b, 37) * factor + a, d = (rotated(a, 25) + b) * factor;
    return mix_pair(c, d, factor);
  }
  if (n >= 4) {
    const uint64_t factor = kMul2 + n * 2;
    return mix_pair(n + (half_word(s) << 3), half_word(s + n - 4), factor);
  }
  if (n > 0) {
    const auto at = [s](size_t i) {
      return static_cast<uint32_t>(static_cast<uint8_t>(s[i]));
    };
    const uint32_t y = at(0) + (at(n >> 1) << 8);
    const uint32_t z = static_cast<uint32_t>(n) + (at(n - 1) << 2);
    return fold(y * kMul2 ^ z * kMul0) * kMul2;
  }
  return kMul2;
}

uint64_t up_to_32(const char* s, size_t n) {
  const uint64_t factor = kMul2 + n * 2;
  const uint64_t a = word(s) * kMul1, b = word(s + 8);
  const uint64_t c = word(s + n - 8) * factor, d = word(s + n - 16) * kMul2;
  return mix_pair(rotated(a + b, 43) + rotated(c, 30) + d, a + rotated(b + kMul2, 18) + c,
                  factor);
}

uint64_t up_to_64(const char* s, size_t n) {
  const uint64_t factor = kMul2 + n * 2;
  const uint64_t a = word(s) * kMul2, b = word(s + 8);
  const uint64_t c = word(s + n - 8) * factor, d = word(s + n - 16) * kMul2;
  const uint64_t y = rotated(a + b, 43) + rotated(c, 30) + d;
  const uint64_t z = mix_pair(y, a + rotated(b + kMul2, 18) + c, factor);
  const uint64_t e = word(s + 16) * factor, f = word(s + 24);
  const uint64_t g = (y + word(s + n - 32)) * factor;
  const uint64_t h = (z + word(s + n - 24)) * factor;
  return mix_pair(rotated(e + f, 43) + rotated(g, 30) + h, e + rotated(f + a, 18) + g,
                  factor);
}

struct WordPair {
  uint64_t first = 0, second = 0;
};

// 32 bytes into two words, from two seeds.
WordPair weak(const char* s, uint64_t a, uint64_t b) {
  const uint64_t w = word(s), x = word(s + 8), y = word(s + 16), z = word(s + 24);
  a += w;
  b = rotated(b + a + z, 21);
  const uint64_t c = a;
  a += x + y;
  b += rotated(a, 44);
  return {a + z, b + c};
}

}  // namespace

uint64_t fingerprint64(std::string_view text) {
  const char* s = text.data();
  const size_t n = text.size();
  if (n <= 16) return up_to_16(s, n);
  if (n <= 32) return up_to_32(s, n);
  if (n <= 64) return up_to_64(s, n);
  constexpr uint64_t kSeed = 81;
  uint64_t x = kSeed, y = kSeed * kMul1 + 113, z = fold(y * kMul2 + 113) * kMul2;
  WordPair v, w;
  x = x * kMul2 + word(s);
  const char* end = s + (n - 1) / 64 * 64;
  const char* last = end + ((n - 1) & 63) - 63;
  do {
    x = rotated(x + y + v.first + word(s + 8), 37) * kMul1;
    y = rotated(y + v.second + word(s + 48), 42) * kMul1;
    x ^= w.second;
    y += v.first + word(s + 40);
    z = rotated(z + w.first, 33) * kMul1;
    v = weak(s, v.second * kMul1, x + w.first);
    w = weak(s + 32, z + w.second, y + word(s + 16));
    std::swap(z, x);
    s += 64;
  } while (s != end);
  const uint64_t factor = kMul1 + ((z & 0xff) << 1);
  s = last;
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  x = rotated(x + y + v.first + word(s + 8), 37) * factor;
  y = rotated(y + v.second + word(s + 48), 42) * factor;
  x ^= w.second * 9;
  y += v.first * 9 + word(s + 40);
  z = rotated(z + w.first, 33) * factor;
  v = weak(s, v.second * factor, x + w.first);
  w = weak(s + 32, z + w.second, y + word(s + 16));
  std::swap(z, x);
  return mix_pair(mix_pair(v.first, w.first, factor) + fold(y) * kMul0 + z,
                  mix_pair(v.second, w.second, factor) + x, factor);
}

uint64_t sip_hash(uint64_t key0, uint64_t key1, std::string_view s) {
  uint64_t v0 = key0 ^ 0x736f6d6570736575ull, v1 = key1 ^ 0x646f72616e646f6dull;
  uint64_t v2 = key0 ^ 0x6c7967656e657261ull, v3 = key1 ^ 0x7465646279746573ull;
  const auto rounds = [&](int n) {
    for (int i = 0; i < n; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto absorb = [&](uint64_t m) {
    v3 ^= m;
    rounds(2);
    v0 ^= m;
  };
  size_t at = 0;
  for (; at + 8 <= s.size(); at += 8) absorb(word(s.data() + at));
  uint64_t last = static_cast<uint64_t>(s.size()) << 56;
  for (size_t i = 0; at + i < s.size(); ++i) {
    last |= static_cast<uint64_t>(static_cast<uint8_t>(s[at + i])) << (8 * i);
  }
  absorb(last);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

uint64_t murmur64(std::string_view s) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995ull;
  constexpr uint64_t kSeed = 0xDECAFCAFFEull;
  uint64_t h = kSeed ^ (s.size() * kFactor);
  size_t at = 0;
  for (; at + 8 <= s.size(); at += 8) {
    uint64_t k = word(s.data() + at) * kFactor;
    k ^= k >> 47;
    h = (h ^ k * kFactor) * kFactor;
  }
  if (at < s.size()) {
    uint64_t k = 0;
    for (size_t i = s.size(); i-- > at;) k = k << 8 | static_cast<uint8_t>(s[i]);
    h = (h ^ k) * kFactor;
  }
  h = (h ^ h >> 47) * kFactor;
  return h ^ h >> 47;
}

}  // namespace tandem::cpu
