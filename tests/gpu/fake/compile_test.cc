// Kernels are compiled ahead of their launch by other threads, and single ops stand in
// for a fused plan until its kernels are there: on the pretended GPU.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/json.h"
#include "gpu/fake/gpu.h"
#include "tandem/error.h"
#include "tandem/function.h"
#include "tandem/profile.h"

namespace tandem::testing {
namespace {

using nlohmann::json;
using FakeCompile = FakeGpuTest;

struct Event {
  std::string name;
  double begin, end;
};
std::vector<Event> events(const Profile& profile) {
  std::vector<Event> found;
  const json trace = json::parse(profile.chrome_trace());
  for (const json& e : trace.at("traceEvents")) {
    if (!e.contains("ts")) continue;
    const double begin = e["ts"].get<double>();
    found.push_back({e["name"].get<std::string>(), begin, begin + e.value("dur", 0.0)});
  }
  return found;
}
std::vector<Event> compiled(const Profile& profile, const std::string& how = "compile ") {
  std::vector<Event> found = events(profile);
  std::erase_if(found, [&](const Event& e) { return !e.name.starts_with(how); });
  return found;
}

/// While it lives, single ops may stand in.
struct Background {
  Background() { setenv("TANDEM_BACKGROUND_COMPILE", "1", 1); }
  ~Background() { setenv("TANDEM_BACKGROUND_COMPILE", "0", 1); }
};
bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// All programs of the step are asked for before the first is launched, and each once.
TEST_F(FakeCompile, AStepsKernelsAreCompiledOnceAndAhead) {
  const auto step = function([](Tensor x) {
    const Tensor y = tanh(x) * 3.0f;
    return std::vector<Tensor>{reduce_max(sinh(y)), reduce_sum(cosh(y), {.axis = {0}}),
                               sort(x), asinh(x)};
  });
  const Tensor x = ones({6, 7});
  start_profile();
  step(x)[0].wait();
  const Profile profile = stop_profile();
  const std::vector<Event> programs = compiled(profile);
  EXPECT_GE(programs.size(), 2u);
  double last = 0, first_launch = 1e300;
  for (const Event& e : programs) last = std::max(last, e.end);
  for (const Event& e : events(profile)) {
    if (e.name == "captured step") first_launch = std::min(first_launch, e.begin);
  }
  EXPECT_LE(last, first_launch);
  start_profile();
  step(x)[0].wait();
  EXPECT_TRUE(compiled(stop_profile()).empty());
}

TEST_F(FakeCompile, TheSameKernelIsCompiledOnceWhoeverAsks) {
  const auto run = [] {
    const DeviceScope scope("/GPU:0");
    return atan(constant(Floats{1, 2, 3}));
  };
  start_profile();
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back([&] { run().wait(); });
  for (std::thread& t : threads) t.join();
  size_t programs = 0;
  for (const Event& e : compiled(stop_profile())) programs += e.name == "compile Atan";
  EXPECT_EQ(programs, 1u);
}

// Looks, a millisecond apart, before a compiler is taken to be stuck: busy machines are
// slow.
constexpr int kPatience = 200'000;

TEST_F(FakeCompile, SingleOpsStandInUntilTheFusedPlanIsThere) {
  NEEDS_PREBUILT();
  const Background background;
  Variable v(on("/GPU:0", [] { return ones({8, 16}); }));
  const auto step = function([&](Tensor x) {
    const Tensor y = exp(x) * v + tanh(x) - sigmoid(x) * 2.0f;
    v.assign(v - y * 0.5f);
    return reduce_mean(square(y) + abs(x));
  });
  const Tensor x = on("/GPU:0", [] { return ones({8, 16}); });
  fake::take_log();
  step(x).wait();
  EXPECT_EQ(count(fake::take_log(), "graph "), 0u);
  std::string text = step.explain();
  EXPECT_TRUE(says(text,
                   "single ops stand in for the fused plan: its kernels were not "
                   "compiled yet"))
      << text;
  EXPECT_FALSE(says(text, "captured launches")) << text;
  for (int i = 0; i < kPatience && !says(text, "stood in"); ++i) {
    step(x).wait();
    text = step.explain();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(says(text, "single ops stood in for the fused plan in ")) << text;
  EXPECT_TRUE(says(text, "captured launches on GPU:0: 1")) << text;
  fake::take_log();
  step(x).wait();
  EXPECT_EQ(count(fake::take_log(), "graph "), 1u);
}

TEST_F(FakeCompile, WhereSingleOpsAreNotThereEitherACallWaits) {
  const Background background;
  const auto step =
      function([](Tensor x) { return reduce_sum(acosh(x) * bessel_i0e(x) + x); });
  step(on("/GPU:0", [] { return ones({4, 5}); })).wait();
  const std::string text = step.explain();
  EXPECT_TRUE(says(text, "kernels of single ops are not compiled either")) << text;
  EXPECT_TRUE(says(text, "captured launches on GPU:0: 1")) << text;
}

TEST_F(FakeCompile, ThreadsThatCallMeanwhileAllEndUpWithTheFusedPlan) {
  const Background background;
  const auto step = function([](Tensor x) {
    return reduce_mean(exp(x) * rsqrt(x) + log(x) * sigmoid(x) - square(x));
  });
  const Tensor x = on("/GPU:0", [] { return ones({8, 16}); });
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!over) {
        step(x).wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  std::string text;
  for (int i = 0; i < kPatience && !says(text, "captured launches"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    text = step.explain();
  }
  over = true;
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(says(text, "captured launches on GPU:0: 1")) << text;
}

// Alone: no test before it has loaded the kernels.
ALONE_TEST(FakeCompileAlone, APrebuiltKernelIsNotCompiled, {}) {
  NEEDS_PREBUILT();
  if (!real_gpu()) return;
  start_profile();
  on("/GPU:0", [] { return exp(ones({5, 3})) * ones({5, 3}); }).wait();
  const Profile profile = stop_profile();
  EXPECT_TRUE(compiled(profile).empty()) << compiled(profile)[0].name;
  EXPECT_FALSE(compiled(profile, "load ").empty());
}

ALONE_TEST(FakeCompileAlone, ADeterministicProgramWaits,
           {{"TANDEM_BACKGROUND_COMPILE", "1"}}) {
  if (!real_gpu()) return;
  config::enable_op_determinism();
  const auto step =
      function([](Tensor x) { return reduce_mean(exp(x) - square(x) * tanh(x)); });
  step(on("/GPU:0", [] { return ones({8, 16}); })).wait();
  EXPECT_FALSE(says(step.explain(), "single ops")) << step.explain();
}

// Threads of the pool are in the compiler when the process ends.
ALONE_TEST(FakeCompileAlone, AProcessMayEndWhileKernelsAreCompiled,
           {{"TANDEM_BACKGROUND_COMPILE", "1"}}) {
  if (!real_gpu()) return;
  const Tensor x = on("/GPU:0", [] { return ones({8, 16}); });
  for (int i = 0; i < 8; ++i) {
    const auto step = function([i](Tensor t) {
      Tensor y = exp(t);
      for (int k = 0; k <= i; ++k) y = tanh(y) * t + sigmoid(y);
      return reduce_mean(y);
    });
    step(x).wait();
  }
  std::exit(0);
}

}  // namespace
}  // namespace tandem::testing
