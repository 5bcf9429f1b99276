// Philox 4x32-10, the counter-based generator of TensorFlow's random ops: 128 bits per
// counter value, the same on every device and for any thread count. A plain value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tandem {

struct Philox {
  using Block = std::array<uint32_t, 4>;
  std::array<uint32_t, 4> counter{};
  std::array<uint32_t, 2> key{};

  /// From the state of a stateless op: 64-bit key, 128-bit counter.
  static Philox from_state(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
    Philox p;
    p.key = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
    p.counter = {
        static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
        static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
    return p;
  }

  /// Advances the counter by n blocks (128-bit addition).
  void skip(uint64_t n) {
    const uint64_t low = (static_cast<uint64_t>(counter[1]) << 32 | counter[0]) + n;
    const bool carry = low < n;
    counter[0] = static_cast<uint32_t>(low);
    counter[1] = static_cast<uint32_t>(low >> 32);
    if (carry && ++counter[2] == 0) ++counter[3];
  }

  static constexpr uint32_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u;
  static constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;

  /// The block of the current counter; does not advance.
  Block peek() const {
    Block c = counter;
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = static_cast<uint64_t>(kMul0) * c[0];
      const uint64_t p1 = static_cast<uint64_t>(kMul1) * c[2];
      c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
      k0 += kWeyl0;
      k1 += kWeyl1;
    }
    return c;
  }
  /// The next block.
  Block next() {
    const Block b = peek();
    skip(1);
    return b;
  }
};

/// One 32-bit number at a time.
class PhiloxWords {
 public:
  explicit PhiloxWords(const Philox& generator) : generator_(generator) {}
  uint32_t operator()() {
    if (used_ == 4) {
      block_ = generator_.next();
      used_ = 0;
    }
    return block_[static_cast<size_t>(used_++)];
  }

 private:
  Philox generator_;
  Philox::Block block_{};
  int used_ = 4;
};

}  // namespace tandem
