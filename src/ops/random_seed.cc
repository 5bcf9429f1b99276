#include "ops/random_seed.h"

#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "base/philox.h"
#include "tandem/device.h"
#include "tandem/error.h"

namespace tandem {

namespace {

constexpr int64_t kMaxInt32 = 0x7fffffff;
constexpr int64_t kDefaultGraphSeed = 87654321;

// Python's random.Random(seed): a Mersenne Twister initialised from an array of 32-bit
// digits. Ops without a seed of their own take theirs from it, as TensorFlow's context
// does.
class PythonRandom {
 public:
  explicit PythonRandom(int64_t seed) {
    uint64_t magnitude =
        seed < 0 ? 0 - static_cast<uint64_t>(seed) : static_cast<uint64_t>(seed);
    std::vector<uint32_t> digits;
    do {
      digits.push_back(static_cast<uint32_t>(magnitude));
      magnitude >>= 32;
    } while (magnitude);
    init_by_array(digits);
  }
  /// randint(0, 2**31 - 1): 32-bit draws until one is below 2**31.
  int64_t next_int31() {
    for (;;) {
      const uint32_t r = next();
      if (r <= static_cast<uint32_t>(kMaxInt32)) return r;
    }
  }

 private:
  static constexpr int kN = 624, kM = 397;
  void init(uint32_t s) {
    state_[0] = s;
    for (uint32_t i = 1; i < kN; ++i) {
      state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
    }
    index_ = kN;
  }
  void init_by_array(const std::vector<uint32_t>& key) {
    init(19650218u);
    size_t i = 1, j = 0;
    for (size_t k = std::max<size_t>(kN, key.size()); k; --k) {
      state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525u)) +
                  key[j] + static_cast<uint32_t>(j);
      if (++i >= kN) {
        state_[0] = state_[kN - 1];
        i = 1;
      }
      if (++j >= key.size()) j = 0;
    }
    for (size_t k = kN - 1; k; --k) {
      state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941u)) -
                  static_cast<uint32_t>(i);
      if (++i >= kN) {
        state_[0] = state_[kN - 1];
        i = 1;
      }
    }
    state_[0] = 0x80000000u;
  }
  uint32_t next() {
    if (index_ >= kN) {
      for (int i = 0; i < kN; ++i) {
        const uint32_t y =
            (state_[i] & 0x80000000u) | (state_[(i + 1) % kN] & 0x7fffffffu);
        state_[i] = state_[(i + kM) % kN] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0u);
      }
      index_ = 0;
    }
    uint32_t y = state_[index_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  uint32_t state_[kN];
  int index_ = kN;
};

struct Seeds {
  std::mutex mutex;
  std::optional<int64_t> global;
  std::optional<PythonRandom> python;
  // Where each kind of op with each pair of seeds stands, in blocks.
  std::map<std::tuple<std::string, int64_t, int64_t>, uint64_t> positions;
  std::mt19937_64 entropy{std::random_device{}()};
};

Seeds& seeds() {
  static auto* s = new Seeds;
  return *s;
}

}  // namespace

void clear_global_seed() {
  Seeds& s = seeds();
  std::lock_guard lock(s.mutex);
  s.global.reset();
  s.python.reset();
  s.positions.clear();
}

void set_global_seed(int64_t seed) {
  Seeds& s = seeds();
  std::lock_guard lock(s.mutex);
  // What is paired with an op's seed is cut as TensorFlow cuts seeds, to [0, 2^31 - 1).
  s.global = (seed % kMaxInt32 + kMaxInt32) % kMaxInt32;
  s.python.emplace(seed);
  s.positions.clear();
}

namespace {

int64_t (*g_trace_op_number)() = nullptr;

// The state at the start of the sequence of two seeds.
RandomState start_of(int64_t seed1, int64_t seed2) {
  if (seed1 == 0 && seed2 == 0) {
    seed2 = kMaxInt32;  // (0, 0) means "no seed" to the kernels
  }
  RandomState state;
  state.key = static_cast<uint64_t>(seed1);
  state.counter[1] = static_cast<uint64_t>(seed2);
  return state;
}

RandomState random_start(Seeds& s) {
  RandomState state;
  state.key = s.entropy();
  state.counter[1] = s.entropy();
  return state;
}

// Numbers that nothing decides have no place in a deterministic program.
void require_seed(const Seeds& s, int64_t seed) {
  if (s.global || seed >= 0 || !config::op_determinism_enabled()) return;
  throw RuntimeStateError(
      "Random ops require a seed to be set when determinism is enabled. Set one before "
      "the op runs, e.g. with tf.random.set_seed(1), or give the op its own.");
}

}  // namespace

void set_trace_op_numbers(int64_t (*next)()) { g_trace_op_number = next; }

RandomState traced_random_state(int64_t seed) {
  Seeds& s = seeds();
  std::lock_guard lock(s.mutex);
  require_seed(s, seed);
  if (s.global) return start_of(*s.global, seed >= 0 ? seed : g_trace_op_number());
  return seed >= 0 ? start_of(kDefaultGraphSeed, seed) : random_start(s);
}

bool is_seeded(int64_t seed) {
  Seeds& s = seeds();
  std::lock_guard lock(s.mutex);
  return seed >= 0 || s.global;
}

RandomState unseeded_random_state() {
  Seeds& s = seeds();
  std::lock_guard lock(s.mutex);
  return random_start(s);
}

RandomState next_random_state(const std::string& op, int64_t seed, uint64_t blocks) {
  Seeds& s = seeds();
  std::lock_guard lock(s.mutex);
  require_seed(s, seed);
  if (!s.global && seed < 0) return random_start(s);
  RandomState state = s.global
                          ? start_of(*s.global, seed >= 0 ? seed : s.python->next_int31())
                          : start_of(kDefaultGraphSeed, seed);
  uint64_t& position = s.positions[{op, static_cast<int64_t>(state.key),
                                    static_cast<int64_t>(state.counter[1])}];
  state.counter[0] = position;
  position += blocks;
  return state;
}

RandomState stateless_state(int64_t seed0, int64_t seed1) {
  // The seeds are scrambled, so that it does not matter which of the two is the better
  // one.
  Philox p;
  p.key = {0x3ec8f720u, 0x02461e29u};
  const auto a = static_cast<uint64_t>(seed0), b = static_cast<uint64_t>(seed1);
  p.counter = {static_cast<uint32_t>(a), static_cast<uint32_t>(a >> 32),
               static_cast<uint32_t>(b), static_cast<uint32_t>(b >> 32)};
  const Philox::Block mix = p.peek();
  RandomState state;
  state.key = static_cast<uint64_t>(mix[1]) << 32 | mix[0];
  state.counter[1] = static_cast<uint64_t>(mix[3]) << 32 | mix[2];
  return state;
}

}  // namespace tandem
