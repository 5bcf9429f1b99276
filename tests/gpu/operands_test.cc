// Large arguments and results of compiled functions on a real GPU: right values whatever
// the addresses, no copies inside the GPU, and still one launch.
#include <cmath>
#include <map>

#include "base/json.h"
#include "gpu/gpu.h"
#include "tandem/function.h"
#include "tandem/profile.h"

namespace tandem::testing {
namespace {

using nlohmann::json;
using Tensors = std::vector<Tensor>;
constexpr int64_t kLarge = 1 << 20;  // floats: 4 MiB

class CudaOperands : public GpuTest {
 protected:
  static Tensor large(float value) {
    return on("/GPU:0", [&] { return fill({kLarge}, constant(value)); });
  }
};

Tensor chain(const Tensor& a, const Tensor& b) { return tanh(a * b + 0.5f) * a - b; }
float chain(float a, float b) { return std::tanh(a * b + 0.5f) * a - b; }

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}
::testing::AssertionResult all(const Tensor& t, float value) {
  const Floats have = floats(t);
  for (size_t i = 0; i < have.size(); ++i) {
    if (!(std::abs(have[i] - value) <= 1e-4f * std::abs(value) + 1e-5f)) {
      return ::testing::AssertionFailure() << have[i] << " at " << i << ", not " << value;
    }
  }
  return ::testing::AssertionSuccess();
}

TEST_F(CudaOperands, ManyCallsWithChangingAddresses) {
  const auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  const float values[] = {1, -2, 0.5f, 3};
  Tensors given, made;
  for (const float v : values) given.push_back(large(v));
  for (size_t i = 0; i < 200; ++i) {
    made.push_back(f(given[i % 4], given[(i / 4 + i) % 3]));
    // Some live on, some go while their step is in flight.
    if (i % 3 == 2) made[i - 1] = Tensor();
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i].defined()) continue;
    ASSERT_TRUE(all(made[i], chain(values[i % 4], values[(i / 4 + i) % 3]))) << i;
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(all(given[i], values[i]));
  const std::string text = f.explain();
  EXPECT_EQ(count(text, "  in place: "), 3u) << text;
  EXPECT_EQ(count(text, "GPU:0 Copy"), 0u) << text;
  EXPECT_EQ(count(text, "captured launches on GPU:0: 1\n"), 1u) << text;
}

TEST_F(CudaOperands, AStepIsTheChainAndNoCopies) {
  const auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  const Tensor x = large(1), y = large(2);
  f(x, y).wait();
  start_profile();
  for (int i = 0; i < 5; ++i) {
    const Tensor r = i % 2 ? f(x, y) : f(y, x);
    r.wait();
  }
  const json trace = json::parse(stop_profile().chrome_trace());
  if (trace.contains("otherData") && !trace["otherData"]["notes"].empty()) {
    GTEST_SKIP() << trace["otherData"]["notes"].dump();
  }
  std::map<std::string, int> ops;
  for (const json& e : trace.at("traceEvents")) {
    if (e.value("cat", "") == "activity") ++ops[e["args"].value("op", "")];
  }
  EXPECT_EQ(ops, (std::map<std::string, int>{{"Fused", 5}}));
  EXPECT_TRUE(all(f(x, y), chain(1.f, 2.f)));
}

TEST_F(CudaOperands, ArgumentsMayGoWhenTheCallReturns) {
  const auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  Tensors made;
  for (int i = 0; i < 50; ++i) made.push_back(f(large(static_cast<float>(i)), large(1)));
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(all(made[static_cast<size_t>(i)], chain(static_cast<float>(i), 1.f)))
        << i;
  }
}

TEST_F(CudaOperands, ViewsAtOddAddressesAreCopiedFirst) {
  const auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  const Tensor whole = large(2),
               x = on("/GPU:0", [] { return fill({kLarge - 8}, constant(3.f)); });
  const Tensor even = on("/GPU:0", [&] { return slice(whole, {4}, {kLarge - 8}); });
  const Tensor odd = on("/GPU:0", [&] { return slice(whole, {5}, {kLarge - 8}); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(all(f(even, x), chain(2.f, 3.f)));
    EXPECT_TRUE(all(f(odd, x), chain(2.f, 3.f)));
    EXPECT_TRUE(all(f(x, odd), chain(3.f, 2.f)));
  }
  EXPECT_EQ(count(f.explain(), "copied first: 6\n"), 1u) << f.explain();
}

// Kernels of many families: the same as op by op, in place or not.
TEST_F(CudaOperands, KernelsOfAllKindsGiveWhatTheyGiveOneByOne) {
  using Body = Tensor (*)(const Tensor&);
  const std::pair<const char*, Body> bodies[] = {
      {"softmax", [](const Tensor& x) { return nn::softmax(x); }},
      {"transpose", [](const Tensor& x) { return transpose(x); }},
      {"sum of columns", [](const Tensor& x) { return reduce_sum(x, {.axis = {0}}); }},
      {"sum of rows", [](const Tensor& x) { return reduce_sum(x, {.axis = {1}}); }},
      {"maximum", [](const Tensor& x) { return reduce_max(x); }},
      {"concat", [](const Tensor& x) { return concat({x, x}, {.axis = 0}); }},
      {"concat of rows", [](const Tensor& x) { return concat({x, x}, {.axis = 1}); }},
      {"pad", [](const Tensor& x) { return pad(x, {{1, 1}, {0, 2}}); }},
      {"cumsum", [](const Tensor& x) { return cumsum(x); }},
      {"reverse", [](const Tensor& x) { return reverse(x, {.axis = {1}}); }},
      {"gather",
       [](const Tensor& x) {
         return gather(x, constant(std::vector<int32_t>{5, 1, 1, 1000}));
       }},
      {"slice", [](const Tensor& x) { return slice(x, {1, 1}, {900, 1000}); }},
      {"rows", [](const Tensor& x) { return slice(x, {1, 0}, {900, 1024}) * 2.f; }},
      {"cast", [](const Tensor& x) { return cast(x, half); }},
      {"zeros", [](const Tensor& x) { return zeros_like(x) + reduce_mean(x); }},
      {"broadcast", [](const Tensor& x) { return x - reduce_mean(x, {.axis = {0}}); }},
      {"product", [](const Tensor& x) { return matmul(x, x) * 0.01f + x; }},
      {"reshape", [](const Tensor& x) { return reshape(x, Shape{512, 2048}); }},
  };
  int in_place = 0;
  for (const auto& [name, body] : bodies) {
    SCOPED_TRACE(name);
    const auto f = function([body = body](Tensor x) { return body(x); });
    for (int call = 0; call < 3; ++call) {
      const Tensor x = on("/GPU:0", [] { return random::normal({1024, 1024}); });
      const Tensor have = f(x), want = on("/GPU:0", [&] { return body(x); });
      ASSERT_EQ(have.shape(), want.shape());
      const Floats a = floats(cast(have, float32)), b = floats(cast(want, float32));
      for (size_t k = 0; k < a.size(); ++k) {
        ASSERT_NEAR(a[k], b[k], 1e-2f + 1e-3f * std::abs(b[k])) << call << ", " << k;
      }
    }
    const std::string text = f.explain();
    in_place += count(text, "(argument, told to ") > 0;
    EXPECT_EQ(count(text, "captured launches on GPU:0: 1\n"), 1u) << text;
  }
  EXPECT_GE(in_place, 15);
}

}  // namespace
}  // namespace tandem::testing
