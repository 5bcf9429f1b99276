// Eager calls, fresh functions, shared variables, datasets and training at once, from
// many threads: memory changes hands between streams all the time, and every value is
// checked. With a real GPU: TANDEM_EMULATE_GPUS=0. More rounds: TANDEM_LONG_TESTS=1.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "emulated/run/gpu.h"
#include "tandem/data.h"

namespace tandem {
namespace {

using testing::Floats;
using testing::floats;
using testing::on;

Tensor numbered(int64_t n, float first) {
  return range(constant(first), constant(first + static_cast<float>(n)), constant(1.f));
}

class Findings {
 public:
  void expect(bool right, const std::string& what) {
    if (right) return;
    const std::lock_guard lock(mutex_);
    if (all_.size() < 1000) all_ += what + "\n";
  }
  const std::string& all() const { return all_; }

 private:
  std::mutex mutex_;
  std::string all_;
};

bool all_are(const Tensor& t, float value) {
  for (const float x : floats(t)) {
    if (x != value) return false;
  }
  return true;
}

int rounds(int few) {
  const char* const asked = std::getenv("TANDEM_LONG_TESTS");
  return asked && std::string(asked) == "1" ? 40 * few : few;
}

constexpr int64_t kElements = 256;

// Calls of fresh functions with arguments of the host, and with variables of their own.
void make_functions(const std::string& device, int seed, Findings& found) {
  for (int i = 0; i < rounds(20); ++i) {
    const auto base = static_cast<float>(seed * 1000 + i);
    const Tensor x = on("CPU:0", [&] { return numbered(kElements, base); });
    const DeviceScope scope(device);
    Variable v(fill({kElements}, constant(3.f)));
    auto step = function([v](Tensor a) mutable {
      v.assign_add(a * 0.f + 1.f);
      return v + a;
    });
    for (int call = 0; call < 3; ++call) {
      const Floats y = floats(step(x));
      for (size_t k = 0; k < y.size(); ++k) {
        const float wanted =
            4.f + static_cast<float>(call) + base + static_cast<float>(k);
        found.expect(y[k] == wanted, "a function's result");
      }
    }
    found.expect(all_are(v.read(), 6.f), "a function's variable");
  }
}

// Until the others are done; returns how often. What one thread sees only grows.
int add_to(const std::string& device, Variable shared, const std::atomic<bool>& over,
           Findings& found) {
  const DeviceScope scope(device);
  int times = 0;
  float last = 0;
  while (!over) {
    shared.assign_add(ones({kElements}));
    ++times;
    const Floats seen = floats(shared.read());
    for (const float x : seen) found.expect(x == seen[0], "a shared variable");
    found.expect(
        seen[0] > last,
        fmt::format("a shared variable went from {} to {}, addition {} of a thread", last,
                    seen[0], times));
    last = seen[0];
  }
  return times;
}

void compute_eagerly(const std::string& device, int seed, Findings& found) {
  for (int i = 0; i < rounds(60); ++i) {
    const auto value = static_cast<float>(seed + i % 7);
    const Tensor x = on("CPU:0", [&] { return fill({kElements}, constant(value)); });
    const DeviceScope scope(device);
    Tensor y = x;
    for (int k = 0; k < 4; ++k) y = y * 2.f - x;
    found.expect(all_are(y, value), "an eager result");
  }
}

void iterate(const std::string& device, int seed, Findings& found) {
  const auto first = static_cast<int64_t>(seed) * 100;
  const auto dataset =
      data::range(first, first + 40)
          .map([](std::span<const Tensor> e) { return data::Element{e[0] * int64_t{3}}; },
               {.num_parallel_calls = 2})
          .batch({.batch_size = 5})
          .prefetch(2);
  const DeviceScope scope(device);
  for (int i = 0; i < rounds(2); ++i) {
    int64_t next = first;
    for (const data::Element& batch : dataset) {
      const Tensor there = cast(batch[0], DType::kFloat32) + 1.f;
      for (const float x : floats(there)) {
        found.expect(x == static_cast<float>(3 * next++ + 1), "an element of a dataset");
      }
    }
    found.expect(next == first + 40, "the number of elements");
  }
}

// Gradient descent on (w - 5)^2, whose weights are known at every step.
void train(const std::string& device, Findings& found) {
  for (int i = 0; i < rounds(6); ++i) {
    const DeviceScope scope(device);
    Variable w(zeros({kElements}));
    auto step = function([w](Tensor goal) mutable {
      GradientTape tape;
      const Tensor off = w.read() - goal;
      const Tensor loss = reduce_sum(off * off);
      w.assign_sub(tape.gradient(loss, w).dense() * 0.25f);
      return loss;
    });
    const Tensor goal = on("CPU:0", [] { return fill({kElements}, constant(8.f)); });
    float off = 8.f;
    for (int k = 0; k < 4; ++k) {
      const float loss = step(goal).item<float>();
      found.expect(loss == off * off * static_cast<float>(kElements), "a loss");
      off /= 2;
    }
    found.expect(all_are(w.read(), 8.f - off), "a trained weight");
  }
}

void everything_at_once(const std::string& device) {
  Findings found;
  Variable shared = on(device, [] { return Variable(zeros({kElements})); });
  std::atomic<int> times{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> adders, others;
  const auto start = [&](std::vector<std::thread>& threads, auto body) {
    threads.emplace_back([body, &found] {
      try {
        body();
      } catch (const std::exception& e) {
        found.expect(false, e.what());
      }
    });
  };
  for (int t = 0; t < 5; ++t) {
    start(adders, [&] { times += add_to(device, shared, over, found); });
  }
  for (int t = 0; t < 3; ++t) {
    start(others, [&, t] { make_functions(device, t, found); });
  }
  start(others, [&] { compute_eagerly(device, 1, found); });
  start(others, [&] { iterate(device, 2, found); });
  start(others, [&] { train(device, found); });
  for (auto& t : others) t.join();
  over = true;
  for (auto& t : adders) t.join();
  EXPECT_EQ(found.all(), "");
  const float first = floats(shared.read())[0];
  synchronize();
  EXPECT_TRUE(all_are(shared.read(), static_cast<float>(times)))
      << first << ", then " << floats(shared.read())[0] << " after " << times
      << " additions";
}

TEST(Stress, EverythingAtOnceOnTheCpu) { everything_at_once("CPU:0"); }
TEST(Stress, EverythingAtOnceOnAGpu) { everything_at_once("GPU:0"); }

}  // namespace
}  // namespace tandem
