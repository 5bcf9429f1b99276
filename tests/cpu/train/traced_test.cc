// Optimizers inside compiled functions do what they do eagerly, and their state is made
// once, while the step is traced.
#include <gtest/gtest.h>

#include "tandem/function.h"
#include "tandem/tandem.h"
#include "tandem/train.h"
#include "weights.h"

namespace tandem {
namespace {

using namespace optimizers;
using testing::copy_weights;
using testing::expect_same;
using Make = std::function<std::unique_ptr<Optimizer>()>;

template <class O, class Options>
Make maker(Options options) {
  return [options] { return std::make_unique<O>(options); };
}

/// An embedding, a dense layer and batch normalisation: dense gradients, slices with
/// equal rows, and state that the forward pass writes.
struct Training {
  layers::Embedding table{6, 4, {.seed = 1}};
  layers::BatchNorm norm{4};
  layers::Dense dense{4, 3, {.seed = 2}};
  std::unique_ptr<Optimizer> optimizer;

  std::vector<Variable> variables() const {
    return layers::join_variables(
        {table.variables(), norm.variables(), dense.variables()});
  }
  Tensor step(const Tensor& ids, const Tensor& labels) {
    GradientTape tape;
    const Tensor loss = losses::sparse_categorical_crossentropy(
        labels, dense(norm(table(ids), true)), {.from_logits = true});
    const Tensor scaled = optimizer->scale_loss(loss);
    optimizer->apply(tape.gradient(scaled, variables()), variables());
    return loss;
  }
};

TEST(TracedOptimizer, StepsAreTheEagerOnes) {
  const std::vector<std::pair<std::string, Make>> all = {
      {"SGD", maker<SGD>(SGDOptions{.learning_rate = 0.1})},
      {"SGD, momentum, clipped", maker<SGD>(SGDOptions{.learning_rate = 0.1,
                                                       .momentum = 0.9,
                                                       .nesterov = true,
                                                       .clip = {.global_norm = 0.5}})},
      {"SGD, schedule", maker<SGD>(SGDOptions{.learning_rate =
                                                  [](const Tensor& t) {
                                                    return 0.1 / (cast(t, float32) + 1);
                                                  }})},
      {"Adam", maker<Adam>(AdamOptions{.learning_rate = 0.01, .epsilon = 1e-3})},
      {"AdamW", maker<AdamW>(AdamWOptions{.learning_rate = 0.01, .epsilon = 1e-3})},
      {"RMSprop", maker<RMSprop>(RMSpropOptions{.momentum = 0.5, .centered = true})},
      {"Adagrad", maker<Adagrad>(AdagradOptions{.learning_rate = 0.1})},
      {"loss scale",
       [] {
         return std::make_unique<LossScaleOptimizer>(
             std::make_unique<Adam>(AdamOptions{.epsilon = 1e-3}),
             LossScaleOptions{.initial_scale = 8, .dynamic_growth_steps = 2});
       }},
  };
  const Tensor ids = constant({1, 4, 1, 0, 5, 4}), labels = constant({0, 2, 1, 1, 0, 2});
  for (const auto& [name, make] : all) {
    SCOPED_TRACE(name);
    Training eager, traced;
    copy_weights(eager.variables(), traced.variables());
    eager.optimizer = make();
    traced.optimizer = make();
    const auto step = function([&](Tensor x, Tensor y) { return traced.step(x, y); });
    for (int i = 0; i < 5; ++i) {
      const float a = eager.step(ids, labels).item<float>();
      const float b = step(ids, labels).item<float>();
      EXPECT_NEAR(a, b, 1e-5) << "step " << i;
    }
    EXPECT_EQ(step.tracing_count(), 1);
    expect_same(eager.variables(), traced.variables());
    expect_same(eager.norm.state(), traced.norm.state());
    expect_same(eager.optimizer->variables(), traced.optimizer->variables());
  }
}

TEST(TracedOptimizer, LearningRateIsReadAtEveryStep) {
  const Variable v(constant(0.f));
  SGD sgd({.learning_rate = 1});
  const auto step = function([&](Tensor g) {
    sgd.apply({Gradient(g)}, {v});
    return v.read();
  });
  EXPECT_EQ(step(constant(1.f)).item<float>(), -1.f);
  sgd.set_learning_rate(10);
  EXPECT_EQ(step(constant(1.f)).item<float>(), -11.f);
  EXPECT_EQ(step.tracing_count(), 1);
}

// How many rows of a batch are distinct is data, and no step needs to know it.
TEST(TracedOptimizer, EqualRowsDecideNoSizes) {
  const std::vector<std::pair<std::string, Make>> all = {
      {"SGD", maker<SGD>(SGDOptions{.learning_rate = 0.1, .clip = {.norm = 0.5}})},
      {"momentum", maker<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.9})},
      {"Adam", maker<Adam>(AdamOptions{.clip = {.global_norm = 0.5}})},
      {"Adagrad", maker<Adagrad>(AdagradOptions{.learning_rate = 0.1})},
      {"Adagrad, clipped", maker<Adagrad>(AdagradOptions{.clip = {.value = 0.01}})},
  };
  for (const auto& [name, make] : all) {
    SCOPED_TRACE(name);
    const Tensor start = reshape(range(24, DType::kFloat32), Shape{6, 4});
    const Variable traced(start), eager(start);
    const auto one = make(), other = make();
    const auto learn = [](const Variable& table, Optimizer& optimizer,
                          const Tensor& ids) {
      GradientTape tape;
      const Tensor loss = reduce_sum(square(table.gather(ids) - 1.f));
      optimizer.apply(tape.gradient(loss, std::vector{table}), {table});
      return loss;
    };
    auto step = function([&](Tensor ids) { return learn(traced, *one, ids); });
    for (const Tensor& ids : {constant({0, 1, 2, 3}), constant({5, 5, 5, 5}),
                              constant({1, 4, 1, 4}), constant({3, 0, 0, 2})}) {
      step(ids);
      learn(eager, *other, ids);
    }
    EXPECT_EQ(step.explain().find("cut the plan"), std::string::npos) << step.explain();
    expect_same({traced}, {eager});
  }
}

}  // namespace
}  // namespace tandem
