// Lists whose elements are on a device, and random ops of traced functions there.
#include "emulated/run/gpu.h"
#include "support/traced.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;

TEST(Lists, KeepElementsWhereTheyAre) {
  const DeviceScope scope("/GPU:0");
  const Tensor x = random::stateless_uniform({4, 3}, {1, 2});
  const TensorArray rows = TensorArray(TensorArrayOptions{}).unstack(x);
  const Tensor row = rows.read(constant(2));
  EXPECT_NE(row.device().find("GPU:0"), std::string::npos);
  EXPECT_EQ(rows.stack().to_vector<float>(), x.to_vector<float>());
}

TEST(Lists, LoopsCollectOnTheDevice) {
  const auto f = [](const Tensors& in) -> Tensors {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor y = while_loop([](const Tensors& v) { return less(v[0], constant(3)); },
                                [&](const Tensors& v) -> Tensors {
                                  return {v[0] + constant(1), tanh(v[1] * in[0])};
                                },
                                {constant(0), in[0]})[1];
    return {tape.gradient(reduce_sum(y), in[0]).dense()};
  };
  const Tensor x = constant({0.5f, 1.5f, -0.75f});
  const auto expected = f({x})[0].to_vector<float>();
  const DeviceScope scope("/GPU:0");
  const auto got = testing::run_traced(f, {x})[0].to_vector<float>();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5f);
}

TEST(TracedRandom, NumbersDoNotDependOnTheDevice) {
  const auto draws = [](const char* device) {
    random::set_seed(5);
    const DeviceScope scope(device);
    const auto graph = testing::trace(
        [](const Tensors&) -> Tensors { return {random::uniform({5}, {.seed = 3})}; },
        {});
    std::vector<std::vector<float>> calls;
    for (int i = 0; i < 3; ++i)
      calls.push_back(interpret(*graph, {})[0].to_vector<float>());
    return calls;
  };
  const auto on_cpu = draws("/CPU:0");
  EXPECT_EQ(on_cpu, draws("/GPU:0"));
  EXPECT_NE(on_cpu[0], on_cpu[1]);
}

}  // namespace
}  // namespace tandem
