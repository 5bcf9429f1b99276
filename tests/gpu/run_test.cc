// Eager programs on a real GPU: the paths a training step takes, against the CPU.
#include <cmath>

#include "gpu/gpu.h"
#include "tandem/error.h"

namespace tandem::testing {
namespace {

using CudaRun = GpuTest;

void expect_each_close(const Tensor& a, const Tensor& b, float tolerance) {
  const Floats x = floats(a), y = floats(b);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(x[i], y[i], tolerance * std::max(1.0f, std::abs(y[i]))) << i;
  }
}

TEST_F(CudaRun, OpsGoToTheGpuByDefault) {
  const Tensor x = constant(Floats{1, 2, 3});
  EXPECT_NE((x + x).device().find("GPU:0"), std::string::npos);
}

// A layer, its loss and gradients; shapes that are no multiples of anything.
TEST_F(CudaRun, ALayersGradientsAreTheCpus) {
  const auto step = [](const char* device) {
    return on(device, [] {
      const Tensor x = noise({37, 19}, 1), w = noise({19, 11}, 2), b = noise({11}, 3);
      Floats label_values(37);
      GradientTape tape;
      tape.watch(w);
      tape.watch(b);
      const Tensor logits = nn::bias_add(matmul(x, w), b);
      const Tensor loss = reduce_mean(square(tanh(logits)));
      std::vector<Tensor> out = {loss};
      for (const Gradient& g : tape.gradient(loss, {w, b})) out.push_back(g.dense());
      return out;
    });
  };
  const auto cpu = step("/CPU:0"), gpu_results = step("/GPU:0");
  for (size_t i = 0; i < cpu.size(); ++i)
    expect_each_close(gpu_results[i], cpu[i], 1e-5f);
}

TEST_F(CudaRun, LargeReductionsAndBroadcasts) {
  const Tensor x = noise({1000, 333}, 4);
  const auto work = [&](const char* device) {
    return on(device, [&] {
      const Tensor y = x * reduce_sum(x, {.axis = {0}}) +
                       reduce_max(x, {.axis = {1}, .keepdims = true});
      return std::vector<Tensor>{y, reduce_sum(y, {.axis = {0}}), reduce_mean(y)};
    });
  };
  const auto cpu = work("/CPU:0"), on_gpu = work("/GPU:0");
  for (size_t i = 0; i < cpu.size(); ++i) expect_each_close(on_gpu[i], cpu[i], 1e-4f);
}

TEST_F(CudaRun, ManySmallOpsDoNotGrowMemory) {
  on("/GPU:0", [&] {
    Tensor x = noise({256, 256}, 5);
    for (int i = 0; i < 10; ++i) x = x * 0.5f + 1.0f;
    synchronize("GPU:0");
    const int64_t before = gpu->allocator().info().peak;
    for (int i = 0; i < 300; ++i) x = x * 0.5f + 1.0f;
    EXPECT_NEAR(floats(x)[0], 2.0f, 1e-5f);
    EXPECT_LE(gpu->allocator().info().peak, before + (2 << 20));
  });
}

TEST_F(CudaRun, VariablesUpdateInPlace) {
  on("/GPU:0", [&] {
    Variable v(zeros({1000}));
    const Tensor snapshot = v.read();
    for (int i = 0; i < 5; ++i) v.assign_add(ones({1000}));
    EXPECT_EQ(floats(v.read()), Floats(1000, 5));
    EXPECT_EQ(floats(snapshot), Floats(1000, 0));
  });
}

}  // namespace
}  // namespace tandem::testing
