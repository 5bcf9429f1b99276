// What a function keeps, and what it says when it is traced again and again.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "run/graph_function.h"
#include "support/traced.h"
#include "tandem/device.h"
#include "tandem/function.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

// What a body that is called with one argument after the other writes to the log.
template <class F>
std::string log_of(F body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

size_t count(const std::string& text, const std::string& word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + 1)) {
    ++n;
  }
  return n;
}

TEST(Retracing, TheSixthTraceSaysWhichShapeDiffered) {
  auto f =
      function([](Tensor x, Tensor y) { return reduce_sum(x) + y; }, {.name = "often"});
  const Tensor y = constant(1.f);
  EXPECT_EQ(log_of([&] {
              for (int64_t n = 1; n <= 5; ++n) f(zeros({n}), y);
            }),
            "");
  const std::string log = log_of([&] {
    for (int64_t n = 6; n <= 9; ++n) f(zeros({n}), y);
  });
  EXPECT_EQ(count(log, "traced again"), 1u) << log;  // once is enough
  EXPECT_NE(log.find("often was traced 5 times and is traced again: argument 0: float32 "
                     "tensor of shape (5,) then float32 tensor of shape (6,)."),
            std::string::npos)
      << log;
}

TEST(Retracing, SaysWhichNumberDtypeOrScopeDiffered) {
  auto number = function([](Tensor x, double k) { return x * k; });
  EXPECT_NE(log_of([&] {
              for (int k = 0; k < 6; ++k) number(constant(1.f), 0.5 * k);
            }).find("argument 1: number 2 then number 2.5"),
            std::string::npos);
  auto device = function([](Tensor x) { return x + x; });
  EXPECT_NE(log_of([&] {
              for (const char* scope :
                   {"", "/CPU:0", "/job:localhost/CPU:0", "/device:CPU:0",
                    "/replica:0/CPU:0", "/task:0/CPU:0", "/replica:0/task:0/CPU:0"}) {
                const DeviceScope in(scope);
                device(constant(1.f));
              }
            }).find("device scope"),
            std::string::npos);
}

TEST(Retracing, DoesNotHappenWithReduceRetracing) {
  auto f = function([](Tensor x) { return reduce_sum(x); }, {.reduce_retracing = true});
  EXPECT_EQ(log_of([&] {
              for (int64_t n = 1; n <= 20; ++n) f(zeros({n}));
            }),
            "");
  EXPECT_EQ(f.tracing_count(), 2);
}

TEST(Bounds, TheTraceNotUsedForLongestGoesFirst) {
  auto f = function([](Tensor x) { return x + 1.f; }, {.max_traces = 2});
  const Tensor one = zeros({1}), two = zeros({2}), three = zeros({3});
  f(one);
  f(two);
  f(one);
  EXPECT_EQ(f.tracing_count(), 2);
  f(three);  // takes the place of the trace for two
  f(one);
  EXPECT_EQ(f.tracing_count(), 3);
  f(two);
  EXPECT_EQ(f.tracing_count(), 4);
  EXPECT_EQ(f(two).to_vector<float>(), std::vector<float>({1, 1}));
}

TEST(Bounds, PlansTooAndCallsUnderWayKeepTheirs) {
  const auto graph = testing::trace(
      [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] * 2.f}; },
      {zeros({1})}, true);
  GraphFunction f(graph, {.max_plans = 3});
  for (int64_t n = 1; n <= 10; ++n) {
    const Tensor x = ones({n});
    EXPECT_EQ(f.run({&x, 1})[0].to_vector<float>(),
              std::vector<float>(static_cast<size_t>(n), 2));
    EXPECT_EQ(f.plans(), std::min<int64_t>(n, 3));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 200; ++i) {
        const Tensor x = ones({1 + (i * 7 + t) % 9});
        if (reduce_sum(f.run({&x, 1})[0]).item<float>() !=
            static_cast<float>(2 * x.num_elements())) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(f.plans(), 3);
}

}  // namespace
}  // namespace tandem
