// What the random kernels share: the generator of a call, and its bits as numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "base/philox.h"
#include "op/kernel.h"

namespace tandem::cpu {

inline Philox generator(const LaunchArgs& a) {
  const auto* key = a.in<uint64_t>(1);
  const auto* counter = a.in<uint64_t>(2);
  return Philox::from_state(key[0], counter[0], counter[1]);
}

/// Samplers that reject some numbers have this many blocks reserved per output, as in
/// TensorFlow.
inline constexpr uint64_t kReservedPerOutput = 256;

/// In [0, 1), from one word or two.
inline float unit(uint32_t x) {
  return std::bit_cast<float>((x & 0x7fffffu) | 0x3f800000u) - 1.0f;
}
inline double unit(uint32_t x0, uint32_t x1) {
  return std::bit_cast<double>(uint64_t{1023} << 52 |
                               static_cast<uint64_t>(x0 & 0xfffffu) << 32 | x1) -
         1.0;
}

/// The samplers of random_samplers.cc: gamma, multinomial, shuffle.
void register_random_samplers(KernelRegistry& registry);

}  // namespace tandem::cpu
