// Layers on narrow inputs compute narrow and learn in float32: what a C++ program does
// for mixed precision, with loss scaling where the narrow dtype needs it.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tandem/function.h"
#include "tandem/tandem.h"
#include "tandem/train.h"
#include "weights.h"

namespace tandem {
namespace {

using namespace optimizers;
using testing::copy_weights;

/// Images through a convolution, both normalisations, attention and dense layers.
struct Net {
  layers::Conv2D conv{
      3, 8, {3, 3}, {.padding = nn::Padding::kSame, .activation = nn::relu, .seed = 1}};
  layers::BatchNorm batch_norm{8};
  layers::MultiHeadAttention attention{8, {.heads = 2, .key_size = 4, .seed = 2}};
  layers::LayerNorm layer_norm{8};
  layers::LSTM lstm{8, 6, {.seed = 5}};
  layers::Dense last{6, 4, {.seed = 6}};

  std::vector<Variable> variables() const {
    return layers::join_variables({conv.variables(), batch_norm.variables(),
                                   attention.variables(), layer_norm.variables(),
                                   lstm.variables(), last.variables()});
  }
  Tensor logits(const Tensor& x, DType compute) const {
    const Tensor y = batch_norm(conv(cast(x, compute)), true);
    const Tensor rows = reshape(y, {x.dim(0), -1, 8});
    const Tensor z = last(lstm(layer_norm(rows + attention(rows))));
    EXPECT_EQ(z.dtype(), compute);
    return cast(z, float32);
  }
};

Tensor some(int64_t n, const Shape& shape) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<float>(i * 7 % 101));
  return reshape(constant(v), shape);
}

struct Learner {
  Net net;
  std::unique_ptr<Optimizer> optimizer;
  DType compute;

  Tensor step(const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor loss = losses::sparse_categorical_crossentropy(y, net.logits(x, compute),
                                                                {.from_logits = true});
    const Tensor scaled = optimizer->scale_loss(loss);
    optimizer->apply(tape.gradient(scaled, net.variables()), net.variables());
    return loss;
  }
};

std::unique_ptr<Optimizer> adam() {
  return std::make_unique<Adam>(AdamOptions{.learning_rate = 0.02});
}
std::unique_ptr<Optimizer> scaled_adam() {
  return std::make_unique<LossScaleOptimizer>(
      std::make_unique<Adam>(AdamOptions{.learning_rate = 0.02}),
      LossScaleOptions{.initial_scale = 1024, .dynamic_growth_steps = 5});
}

TEST(MixedPrecision, LearnsAsFloat32Does) {
  const Tensor x = some(6 * 4 * 4 * 3, {6, 4, 4, 3});
  const Tensor y = constant({0, 1, 2, 3, 1, 2});
  Learner wide{Net{}, adam(), float32};
  Learner brain{Net{}, adam(), bf16};
  Learner narrow{Net{}, scaled_adam(), half};
  copy_weights(wide.net.variables(), brain.net.variables());
  copy_weights(wide.net.variables(), narrow.net.variables());
  float first = 0;
  for (Learner* run : {&wide, &brain, &narrow}) {
    SCOPED_TRACE(dtype_name(run->compute));
    const auto step = function([run](Tensor a, Tensor b) { return run->step(a, b); });
    std::vector<float> losses;
    for (int i = 0; i < 30; ++i) losses.push_back(step(x, y).item<float>());
    if (run == &wide) first = losses[0];
    // Eight bits of a bfloat16 are worth half a percent; the first loss is near log(4).
    EXPECT_NEAR(losses[0], first, 0.03);
    EXPECT_LT(losses.back(), 0.5f * losses.front());
    for (const Variable& v : run->net.variables()) EXPECT_EQ(v.dtype(), float32);
    EXPECT_EQ(step.tracing_count(), 1);
  }
}

TEST(MixedPrecision, AnOverflowInFloat16LeavesTheWeightsAndHalvesTheScale) {
  const Tensor x = some(6 * 4 * 4 * 3, {6, 4, 4, 3});
  const Tensor y = constant({0, 1, 2, 3, 1, 2});
  auto scaled = std::make_unique<LossScaleOptimizer>(
      std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1}),
      // Gradients near one become infinite in float16.
      LossScaleOptions{.initial_scale = 1u << 30, .dynamic_growth_steps = 1000});
  LossScaleOptimizer& optimizer = *scaled;
  Learner run{Net{}, std::move(scaled), half};
  const auto before = run.net.last.kernel.read().to_vector<float>();
  const auto step = function([&](Tensor a, Tensor b) { return run.step(a, b); });
  step(x, y).wait();
  EXPECT_EQ(run.net.last.kernel.read().to_vector<float>(), before);
  EXPECT_EQ(optimizer.scale().read().item<float>(), static_cast<float>(1u << 29));
  int steps = 1;
  while (run.net.last.kernel.read().to_vector<float>() == before && steps < 40) {
    step(x, y).wait();
    ++steps;
  }
  EXPECT_LT(steps, 40) << "the scale never came down to where gradients are finite";
  for (float v : run.net.last.kernel.read().to_vector<float>())
    EXPECT_TRUE(std::isfinite(v));
}

}  // namespace
}  // namespace tandem
