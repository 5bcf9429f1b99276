// Compiled functions on a real GPU: what they leave behind when they fail, and what they
// do not copy.
#include "gpu/gpu.h"
#include "tandem/control_flow.h"
#include "tandem/error.h"
#include "tandem/function.h"

namespace tandem::testing {
namespace {

using CudaStep = GpuTest;
using Tensors = std::vector<Tensor>;

// The update is computed in the variable's own memory, behind the kernel that finds the
// bad label.
TEST_F(CudaStep, AFailedStepLeavesVariablesAsTheyWere) {
  const DeviceScope scope("/GPU:0");
  Variable w(constant(Floats{0.5f, -0.25f, 0.125f, 1, 2, 3}, {2, 3}));
  const auto step = function([&](Tensor x, Tensor labels) {
    GradientTape tape;
    const Tensor loss =
        reduce_sum(nn::sparse_softmax_cross_entropy(labels, matmul(x, w)));
    w.assign(w - tape.gradient(loss, w).dense() * 0.1f);
    return loss;
  });
  const Tensor x = constant(Floats{1, 2, 3, 4}, {2, 2});
  const Tensor good = constant(std::vector<int64_t>{0, 2});
  const Tensor bad = constant(std::vector<int64_t>{0, 7});
  step(x, good).wait();
  const Floats before = floats(w.read());
  EXPECT_THROW(step(x, bad).item<float>(), InvalidArgumentError);
  EXPECT_EQ(floats(w.read()), before);
  step(x, good).wait();
  EXPECT_NE(floats(w.read()), before);
}

// The counter is the host's, the sum the GPU's: neither has to know the other. (In a
// scope that asks for the GPU the counter would be there too, and the host would have to
// wait.)
TEST_F(CudaStep, ALongLoopCopiesNothingBack) {
  const auto loop = function([](Tensor x) {
    return while_loop([](const Tensors& v) { return less(v[0], constant(1000)); },
                      [](const Tensors& v) -> Tensors {
                        return {v[0] + constant(1), v[1] * 0.5f + 1.0f};
                      },
                      {constant(0), x})[1];
  });
  const Tensor x = constant(Floats{0, 5, -3});
  loop(x).wait();
  const CopyStats before = copy_stats();
  const Tensor y = loop(x);
  y.wait();
  EXPECT_EQ(copy_stats().count, before.count) << loop.explain();
  EXPECT_EQ(floats(y), (Floats{2, 2, 2}));
}

// A state of random numbers moves on by itself from call to call.
TEST_F(CudaStep, RandomNumbersDifferFromCallToCallAndRepeatWithTheSeed) {
  const auto draw = function([] { return random::uniform({4}); });
  random::set_seed(7);
  const Floats first = floats(draw()), second = floats(draw());
  EXPECT_NE(first, second);
  random::set_seed(7);
  EXPECT_EQ(floats(draw()), first);
}

}  // namespace
}  // namespace tandem::testing
