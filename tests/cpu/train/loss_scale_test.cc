// Steps with gradients that are not finite change nothing but the scale.
#include <limits>

#include "reference.h"
#include "tandem/train.h"

namespace tandem {
namespace {

using namespace optimizers;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> snapshot(const std::vector<Variable>& variables) {
  std::vector<float> all;
  for (const Variable& v : variables) {
    for (float x : cast(v, float32).to_vector<float>()) all.push_back(x);
  }
  return all;
}

TEST(LossScale, ANonFiniteStepIsLeftOut) {
  const Variable a(constant({1.f, 2.f})), table(constant({{1.f}, {2.f}, {3.f}}));
  const IndexedSlices rows{constant({{1.f}, {1.f}}), constant({0, 2}), constant({3, 1})};
  const IndexedSlices bad_rows{constant({{1.f}, {kInf}}), constant({0, 2}),
                               constant({3, 1})};
  std::vector<std::unique_ptr<GradientOptimizer>> inner;
  inner.push_back(std::make_unique<SGD>());
  inner.push_back(std::make_unique<SGD>(SGDOptions{.momentum = 0.9}));
  inner.push_back(std::make_unique<AdamW>());
  inner.push_back(std::make_unique<RMSprop>(RMSpropOptions{.centered = true}));
  inner.push_back(std::make_unique<Adagrad>());
  for (auto& each : inner) {
    GradientOptimizer& o = *each;
    LossScaleOptimizer optimizer(std::move(each), {.initial_scale = 8});
    const Gradient good(constant({1.f, 1.f})), bad(constant({1.f, kInf}));
    optimizer.apply({good, Gradient(rows)}, {a, table});
    std::vector<Variable> watched = o.variables();
    watched.push_back(a);
    watched.push_back(table);
    const auto before = snapshot(watched);
    optimizer.apply({bad, Gradient(rows)}, {a, table});
    optimizer.apply({good, Gradient(bad_rows)}, {a, table});
    EXPECT_EQ(snapshot(watched), before);
    EXPECT_EQ(optimizer.scale().read().item<float>(), 2.f);
    optimizer.apply({good, Gradient(rows)}, {a, table});
    EXPECT_NE(snapshot(watched), before);
  }
}

TEST(LossScale, GrowsAfterFiniteStepsInARow) {
  const Variable v(constant(0.f));
  LossScaleOptimizer optimizer(std::make_unique<SGD>(),
                               {.initial_scale = 4, .dynamic_growth_steps = 2});
  EXPECT_EQ(optimizer.scale_loss(constant(3.f)).item<float>(), 12.f);
  std::vector<float> scales;
  for (float g : {1.f, 1.f, 1.f, kInf, 1.f, 1.f}) {
    optimizer.apply({Gradient(constant(g))}, {v});
    scales.push_back(optimizer.scale().read().item<float>());
  }
  EXPECT_EQ(scales, (std::vector<float>{4, 8, 8, 4, 4, 8}));
  EXPECT_EQ(optimizer.scale_loss(constant(3.f)).item<float>(), 24.f);
}

TEST(LossScale, TheFirstLossIsScaledByTheVariableToo) {
  const Variable v(constant(1.f));
  LossScaleOptimizer optimizer(std::make_unique<SGD>(), {.initial_scale = 4});
  EXPECT_FALSE(optimizer.scale().defined());
  optimizer.scale_loss(constant(1.f));
  ASSERT_TRUE(optimizer.scale().defined());
  const Tensor handle = optimizer.scale().handle();
  optimizer.apply({Gradient(constant(kInf))}, {v});
  EXPECT_TRUE(optimizer.scale().handle().is(handle));
  EXPECT_EQ(optimizer.scale_loss(constant(1.f)).item<float>(), 2.f);
}

TEST(LossScale, AFixedScaleStays) {
  const Variable v(constant(1.f));
  LossScaleOptimizer optimizer(std::make_unique<SGD>(SGDOptions{.learning_rate = 1}),
                               {.initial_scale = 4, .dynamic = false});
  optimizer.apply({Gradient(constant(kInf))}, {v});
  EXPECT_EQ(v.read().item<float>(), 1.f);
  optimizer.apply({Gradient(constant(2.f))}, {v});
  EXPECT_EQ(v.read().item<float>(), 0.5f);
  EXPECT_EQ(optimizer.scale().read().item<float>(), 4.f);
}

TEST(LossScale, RefusesNonsense) {
  EXPECT_THROW(LossScaleOptimizer(nullptr), ValueError);
  EXPECT_THROW(LossScaleOptimizer(std::make_unique<SGD>(), {.initial_scale = 0}),
               ValueError);
  EXPECT_THROW(LossScaleOptimizer(std::make_unique<SGD>(), {.dynamic_growth_steps = 0}),
               ValueError);
}

}  // namespace
}  // namespace tandem
