// Random ops in traced functions: the numbers of TensorFlow's functions, call by call
// (data/function_random.json, made by tools/reference/make_function_random_reference.py).
#include <fstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "ops/values.h"
#include "support/traced.h"

namespace tandem {
namespace {

using nlohmann::json;
using testing::trace;
namespace rnd = tandem::random;
using Tensors = std::vector<Tensor>;

Tensors body(const std::string& kind, const std::vector<int64_t>& s) {
  if (kind == "floats") {
    return {rnd::uniform({5}, {-1, 3, float32, s[0]}),
            rnd::normal({2, 3}, {1, 2, float32, s[1]}),
            rnd::truncated_normal({4}, {0, 1, float32, s[2]})};
  }
  if (kind == "others") {
    const Tensor p = constant({{0.1f, 0.6f, 0.3f}, {0.8f, 0.1f, 0.1f}});
    return {rnd::uniform({6}, {3, 1000, int64, s[0]}),
            rnd::categorical(log(p), 9, {int64, s[1]}),
            rnd::shuffle(constant({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), {s[2]}),
            rnd::gamma({4}, constant({0.5f, 1.0f, 3.0f}), {s[3]})};
  }
  return {rnd::uniform({3}, {.seed = s[0]}), rnd::uniform({3}, {.seed = s[1]})};
}

// First: a seed that was set stays.
TEST(FunctionRandom, WithoutSeedsEveryTraceAndCallDiffers) {
  const auto f = [](const Tensors&) -> Tensors { return {rnd::uniform({4})}; };
  const auto a = trace(f, {}), b = trace(f, {});
  const auto first = interpret(*a, {})[0].to_vector<float>();
  EXPECT_NE(first, interpret(*a, {})[0].to_vector<float>());
  EXPECT_NE(first, interpret(*b, {})[0].to_vector<float>());
}

TEST(FunctionRandom, NumbersAreTensorFlows) {
  std::ifstream file(TANDEM_TEST_DATA "/function_random.json");
  const json reference = json::parse(file);
  for (const json& c : reference["cases"]) {
    SCOPED_TRACE(c["kind"].get<std::string>() + " " + c["global_seed"].dump() + " " +
                 c["op_seeds"].dump());
    rnd::set_seed(c["global_seed"]);
    const auto graph =
        trace([&](const Tensors&) { return body(c["kind"], c["op_seeds"]); }, {});
    for (size_t call = 0; call < c["calls"].size(); ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      if (call == c["restarts_at"]) rnd::set_seed(c["global_seed"]);
      const Tensors got = interpret(*graph, {});
      ASSERT_EQ(got.size(), c["calls"][call].size());
      for (size_t i = 0; i < got.size(); ++i) {
        const json& output = c["calls"][call][i];
        EXPECT_EQ(dtype_name(got[i].dtype()), output["dtype"].get<std::string>());
        testing::Ref expected;
        expected.shape = Shape(output["shape"].get<std::vector<int64_t>>());
        for (const json& v : output["values"]) {
          expected.values.emplace_back(v.is_string() ? std::stod(v.get<std::string>())
                                                     : v.get<double>());
        }
        EXPECT_EQ(
            testing::difference(testing::to_ref(got[i]), expected, got[i].dtype(), 2e-6),
            "")
            << "output " << i;
      }
    }
  }
}

TEST(FunctionRandom, LoopsDrawAnewInEveryTurn) {
  rnd::set_seed(7);
  const auto graph = trace(
      [](const Tensors&) -> Tensors {
        return while_loop([](const Tensors& v) { return less(v[0], constant(3)); },
                          [](const Tensors& v) -> Tensors {
                            return {v[0] + constant(1), v[2], v[3],
                                    rnd::uniform({2}, {.seed = 5})};
                          },
                          {constant(0), zeros({2}), zeros({2}), zeros({2})});
      },
      {});
  const Tensors turns = interpret(*graph, {});
  rnd::set_seed(7);
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(turns[i].to_vector<float>(),
              rnd::uniform({2}, {.seed = 5}).to_vector<float>());
  }
}

TEST(FunctionRandom, DropoutOfUnknownShapeDrawsAnew) {
  const auto graph = trace(
      [](const Tensors& in) -> Tensors {
        return {nn::dropout(in[0], {.rate = 0.5, .seed = 3})};
      },
      {ones({200})}, true);
  const auto first = interpret(*graph, std::vector{ones({200})})[0].to_vector<float>();
  EXPECT_NE(first, interpret(*graph, std::vector{ones({200})})[0].to_vector<float>());
}

}  // namespace
}  // namespace tandem
