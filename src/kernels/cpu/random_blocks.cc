// Compiled once per instruction set (ISA source). Philox rounds and conversions vectorise
// as they stand; logarithm, sine and cosine use the vector functions of the C library (at
// most 4 ulp).
#include "kernels/cpu/random_blocks.h"

#include <bit>
#include <cmath>

#ifdef __x86_64__
extern "C" {
__attribute__((simd("notinbranch"))) float logf(float) noexcept;
__attribute__((simd("notinbranch"))) float sinf(float) noexcept;
__attribute__((simd("notinbranch"))) float cosf(float) noexcept;
__attribute__((simd("notinbranch"))) double log(double) noexcept;
__attribute__((simd("notinbranch"))) double sin(double) noexcept;
__attribute__((simd("notinbranch"))) double cos(double) noexcept;
}
#endif

namespace tandem::cpu::TANDEM_ISA {

namespace {

constexpr int kWordLanes = 64;

void words(const Philox& base, uint64_t first, int64_t count, uint32_t* out) {
  uint32_t c0[kWordLanes], c1[kWordLanes], c2[kWordLanes], c3[kWordLanes];
  for (int64_t done = 0; done < count; done += kWordLanes) {
    const int64_t n = count - done < kWordLanes ? count - done : kWordLanes;
    for (int64_t i = 0; i < n; ++i) {
      Philox p = base;
      p.skip(first + static_cast<uint64_t>(done + i));
      c0[i] = p.counter[0];
      c1[i] = p.counter[1];
      c2[i] = p.counter[2];
      c3[i] = p.counter[3];
    }
    uint32_t k0 = base.key[0], k1 = base.key[1];
    for (int round = 0; round < 10; ++round) {
#pragma omp simd
      for (int i = 0; i < kWordLanes; ++i) {
        const uint64_t p0 = static_cast<uint64_t>(Philox::kMul0) * c0[i];
        const uint64_t p1 = static_cast<uint64_t>(Philox::kMul1) * c2[i];
        c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
        c1[i] = static_cast<uint32_t>(p1);
        c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
        c3[i] = static_cast<uint32_t>(p0);
      }
      k0 += Philox::kWeyl0;
      k1 += Philox::kWeyl1;
    }
    uint32_t* to = out + done * 4;
    for (int64_t i = 0; i < n; ++i) {
      to[4 * i] = c0[i];
      to[4 * i + 1] = c1[i];
      to[4 * i + 2] = c2[i];
      to[4 * i + 3] = c3[i];
    }
  }
}

inline float unit_float(uint32_t x) {
  return std::bit_cast<float>((x & 0x7fffffu) | 0x3f800000u) - 1.0f;
}
inline double unit_double(uint32_t x0, uint32_t x1) {
  const uint64_t bits =
      uint64_t{1023} << 52 | static_cast<uint64_t>(x0 & 0xfffffu) << 32 | x1;
  return std::bit_cast<double>(bits) - 1.0;
}

void uniform_float(const uint32_t* w, int64_t n, float* out) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = unit_float(w[i]);
}

void uniform_double(const uint32_t* w, int64_t n, double* out) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = unit_double(w[2 * i], w[2 * i + 1]);
}

void normal_float(const uint32_t* w, int64_t n, float* out) {
  constexpr float kTiny = 1.0e-7f;
  constexpr float kTwoPi = 2.0f * 3.14159265358979323846f;
  float radius[kWordLanes], angle[kWordLanes], s[kWordLanes], c[kWordLanes];
  for (int64_t done = 0; done < n; done += 2 * kWordLanes) {
    const int64_t pairs = n - done < 2 * kWordLanes ? (n - done) / 2 : kWordLanes;
    for (int64_t i = 0; i < pairs; ++i) {
      const float u = unit_float(w[done + 2 * i]);
      radius[i] = u < kTiny ? kTiny : u;
      angle[i] = kTwoPi * unit_float(w[done + 2 * i + 1]);
    }
    for (int64_t i = pairs; i < kWordLanes; ++i) radius[i] = 1, angle[i] = 0;
#pragma omp simd
    for (int i = 0; i < kWordLanes; ++i) radius[i] = std::sqrt(-2.0f * logf(radius[i]));
#pragma omp simd
    for (int i = 0; i < kWordLanes; ++i) s[i] = sinf(angle[i]) * radius[i];
#pragma omp simd
    for (int i = 0; i < kWordLanes; ++i) c[i] = cosf(angle[i]) * radius[i];
    for (int64_t i = 0; i < pairs; ++i) {
      out[done + 2 * i] = s[i];
      out[done + 2 * i + 1] = c[i];
    }
  }
}

void normal_double(const uint32_t* w, int64_t n, double* out) {
  constexpr double kTiny = 1.0e-7;
  constexpr double kTwoPi = 2.0 * 3.14159265358979323846;
  double radius[kWordLanes], angle[kWordLanes], s[kWordLanes], c[kWordLanes];
  for (int64_t done = 0; done < n; done += 2 * kWordLanes) {
    const int64_t pairs = n - done < 2 * kWordLanes ? (n - done) / 2 : kWordLanes;
    for (int64_t i = 0; i < pairs; ++i) {
      const uint32_t* v = w + 2 * done + 4 * i;
      const double u = unit_double(v[0], v[1]);
      radius[i] = u < kTiny ? kTiny : u;
      angle[i] = kTwoPi * unit_double(v[2], v[3]);
    }
    for (int64_t i = pairs; i < kWordLanes; ++i) radius[i] = 1, angle[i] = 0;
#pragma omp simd
    for (int i = 0; i < kWordLanes; ++i) radius[i] = std::sqrt(-2.0 * log(radius[i]));
#pragma omp simd
    for (int i = 0; i < kWordLanes; ++i) s[i] = sin(angle[i]) * radius[i];
#pragma omp simd
    for (int i = 0; i < kWordLanes; ++i) c[i] = cos(angle[i]) * radius[i];
    for (int64_t i = 0; i < pairs; ++i) {
      out[done + 2 * i] = s[i];
      out[done + 2 * i + 1] = c[i];
    }
  }
}

}  // namespace

extern const RandomBlocks kRandomBlocks;
const RandomBlocks kRandomBlocks = {words, uniform_float, uniform_double, normal_float,
                                    normal_double};

}  // namespace tandem::cpu::TANDEM_ISA
