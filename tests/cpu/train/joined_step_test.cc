// Optimizer steps over variables, slots and gradients that lie end to end: the numbers of
// eager steps, whatever else looks at the memory meanwhile.
#include <cmath>

#include <gtest/gtest.h>

#include "tandem/function.h"
#include "tandem/tandem.h"
#include "tandem/train.h"
#include "weights.h"

namespace tandem {
namespace {

using namespace optimizers;
using testing::expect_same;
using Make = std::function<std::unique_ptr<Optimizer>()>;

// Sizes that fill their places, with one of 10 elements and a single number among them.
std::vector<Variable> make_weights(DType odd = DType::kFloat32) {
  std::vector<Variable> weights;
  int64_t k = 0;
  for (const Shape& s : {Shape{16, 4}, Shape{32}, Shape{10}, Shape{48}, Shape{},
                         Shape{16}, Shape{8, 8}, Shape{64}}) {
    const Tensor ramp = reshape(range(s.num_elements()), s);
    weights.emplace_back(cast(sin(cast(ramp + k, float32)), k == 3 ? odd : float32));
    ++k;
  }
  return weights;
}

// Every weight has a gradient of its own; 1 and 3 of 16 (or 10) rows are asked for twice.
Tensor loss_of(const std::vector<Variable>& weights, const Tensor& x) {
  Tensor loss = reduce_sum(weights[0].gather(constant({1, 3, 1})));
  for (size_t i = 1; i < weights.size(); ++i) {
    loss = loss + reduce_sum(square(cast(weights[i].read(), float32) * x - 0.5f));
  }
  // One gradient for two variables.
  return loss + reduce_sum(weights[6].read() + reshape(weights[7].read(), {8, 8})) * x;
}

struct JoinedTraining {
  std::vector<Variable> weights;
  std::unique_ptr<Optimizer> optimizer;

  Tensor step(const Tensor& x) {
    GradientTape tape;
    const Tensor loss = loss_of(weights, x);
    optimizer->apply(tape.gradient(optimizer->scale_loss(loss), weights), weights);
    return loss;
  }
};

std::vector<std::pair<std::string, Make>> optimizers_of_interest() {
  return {
      {"Adam", [] { return std::make_unique<Adam>(AdamOptions{.epsilon = 1e-3}); }},
      {"Adam, global norm",
       [] {
         return std::make_unique<Adam>(
             AdamOptions{.epsilon = 1e-3, .clip = {.global_norm = 0.5}});
       }},
      {"Adam, norms",
       [] {
         return std::make_unique<Adam>(
             AdamOptions{.epsilon = 1e-3, .clip = {.norm = 0.1}});
       }},
      {"momentum",
       [] {
         return std::make_unique<SGD>(
             SGDOptions{.learning_rate = 0.05, .momentum = 0.9, .nesterov = true});
       }},
      {"AdamW", [] { return std::make_unique<AdamW>(AdamWOptions{.epsilon = 1e-3}); }},
      {"loss scale",
       [] {
         return std::make_unique<LossScaleOptimizer>(
             std::make_unique<Adam>(
                 AdamOptions{.epsilon = 1e-3, .clip = {.global_norm = 0.5}}),
             LossScaleOptions{.initial_scale = 8, .dynamic_growth_steps = 2});
       }},
  };
}

TEST(JoinedStep, IsTheEagerStep) {
  for (const DType odd : {DType::kFloat32, DType::kFloat64}) {
    for (const auto& [name, make] : optimizers_of_interest()) {
      SCOPED_TRACE(name);
      JoinedTraining eager{make_weights(odd), make()}, traced{make_weights(odd), make()};
      const auto step = function([&](Tensor x) { return traced.step(x); });
      for (int i = 0; i < 4; ++i) {
        const Tensor x = constant(0.5f + 0.25f * static_cast<float>(i));
        EXPECT_NEAR(eager.step(x).item<float>(), step(x).item<float>(), 1e-3);
      }
      EXPECT_EQ(step.tracing_count(), 1);
      expect_same(eager.weights, traced.weights, 1e-5);
      expect_same(eager.optimizer->variables(), traced.optimizer->variables(), 1e-5);
    }
  }
}

// Readers keep what they read, assigned values count, and the loop is made of what is
// left of the arena.
TEST(JoinedStep, FollowsVariablesThatAreElsewhere) {
  const Make make = optimizers_of_interest()[0].second;
  JoinedTraining eager{make_weights(), make()}, traced{make_weights(), make()};
  const auto step = function([&](Tensor x) { return traced.step(x); });
  const Tensor x = constant(0.75f);
  Tensor held;
  std::vector<float> seen;
  for (int i = 0; i < 8; ++i) {
    eager.step(x);
    step(x);
    if (i == 2) {
      held = traced.weights[3].read();
      seen = held.to_vector<float>();
    }
    if (i == 5) held = Tensor();
    if (i == 6) {
      for (JoinedTraining* t : {&eager, &traced}) t->weights[1].assign(zeros({32}) + 2.f);
    }
    if (held.defined()) {
      EXPECT_EQ(held.to_vector<float>(), seen) << "step " << i;
    }
    expect_same(eager.weights, traced.weights, 1e-5);
  }
  expect_same(eager.optimizer->variables(), traced.optimizer->variables(), 1e-5);
}

// The bits do not depend on where memory lies: an optimised step with readers in the way
// and one without.
TEST(JoinedStep, HasTheSameBitsWhereverMemoryLies) {
  const Make make = optimizers_of_interest()[0].second;
  JoinedTraining free{make_weights(), make()}, held{make_weights(), make()};
  const auto a = function([&](Tensor x) { return free.step(x); });
  const auto b = function([&](Tensor x) { return held.step(x); });
  const Tensor x = constant(0.75f);
  std::vector<Tensor> readers;
  for (int i = 0; i < 6; ++i) {
    a(x);
    b(x);
    readers.push_back(held.weights[static_cast<size_t>(i)].read());
  }
  for (size_t i = 0; i < free.weights.size(); ++i) {
    EXPECT_EQ(free.weights[i].read().to_vector<float>(),
              held.weights[i].read().to_vector<float>());
  }
}

}  // namespace
}  // namespace tandem
