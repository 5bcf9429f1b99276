// What references cannot show: building, refusals, missing gradients, dtypes, learning
// something.
#include "reference.h"
#include "tandem/train.h"

namespace tandem {
namespace {

using namespace optimizers;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const ValueError& e) {
    return e.what();
  }
  return "no ValueError";
}

TEST(Optimizer, StateIsMadeOnceAndHasKerasNames) {
  const Variable kernel(constant({1.f, 2.f}), {.name = "kernel"});
  Adam adam({.amsgrad = true});
  EXPECT_TRUE(adam.variables().empty());
  adam.build({kernel});
  std::vector<std::string> names;
  for (const Variable& v : adam.variables()) {
    names.push_back(v.name());
    EXPECT_FALSE(v.trainable());
    EXPECT_EQ(v.device(), kernel.device());
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "adam/iteration", "adam/learning_rate", "adam/kernel_momentum",
                       "adam/kernel_velocity", "adam/kernel_velocity_hat"}));
  const Tensor handle = adam.variables()[2].handle();
  adam.apply({Gradient(constant({1.f, 1.f}))}, {kernel});
  EXPECT_TRUE(adam.variables()[2].handle().is(handle));
  EXPECT_EQ(adam.iterations().read().item<int64_t>(), 1);
  EXPECT_EQ(adam.iterations().dtype(), int64);
}

TEST(Optimizer, AMissingGradientLeavesItsVariable) {
  const Variable a(constant(1.f)), b(constant(2.f));
  SGD sgd({.learning_rate = 0.5, .momentum = 0.9, .weight_decay = 0.1});
  sgd.apply({Gradient(), Gradient(constant(1.f))}, {a, b});
  EXPECT_EQ(a.read().item<float>(), 1.f);
  EXPECT_NEAR(b.read().item<float>(), 2 - 2 * 0.05 - 0.5, 1e-6);
  EXPECT_EQ(message_of([&] { sgd.apply({Gradient(), Gradient()}, {a, b}); }),
            "No gradients provided for any variable.");
}

TEST(Optimizer, RefusesWhatKerasRefuses) {
  const Variable a(constant(1.f), {.name = "a"}), b(constant(2.f), {.name = "b"});
  const Gradient one(constant(1.f));
  SGD sgd;
  sgd.apply({one}, {a});
  EXPECT_NE(message_of([&] { sgd.apply({one}, {b}); }).find("Unknown variable: b"),
            std::string::npos);
  EXPECT_NE(message_of([&] { sgd.apply({one, one}, {a}); }).find("2 gradients for 1"),
            std::string::npos);
  EXPECT_NE(
      message_of([] { SGD({.clip = {.norm = 1, .value = 2}}); }).find("Only one of"),
      std::string::npos);
  EXPECT_NE(message_of([] { SGD({.momentum = 1.5}); }).find("momentum=1.5"),
            std::string::npos);
  EXPECT_NE(message_of([] { Adam({.clip = {.value = 0}}); }).find("clipped to 0"),
            std::string::npos);
  SGD scheduled({.learning_rate = [](const Tensor& t) { return cast(t, float32); }});
  EXPECT_NE(message_of([&] { scheduled.set_learning_rate(1); }).find("not settable"),
            std::string::npos);
}

TEST(Optimizer, LearningRateCanBeSetBeforeAndAfterTheFirstStep) {
  const Variable v(constant(0.f));
  SGD sgd({.learning_rate = 1});
  sgd.set_learning_rate(2);
  sgd.apply({Gradient(constant(1.f))}, {v});
  EXPECT_EQ(v.read().item<float>(), -2.f);
  sgd.set_learning_rate(3);
  EXPECT_EQ(sgd.learning_rate().item<float>(), 3.f);
  sgd.apply({Gradient(constant(1.f))}, {v});
  EXPECT_EQ(v.read().item<float>(), -5.f);
}

TEST(Optimizer, ScheduleSeesTheIteration) {
  const Variable v(constant(0.f));
  SGD sgd({.learning_rate = [](const Tensor& t) { return cast(t, float32) + 1; }});
  for (int i = 0; i < 3; ++i) sgd.apply({Gradient(constant(1.f))}, {v});
  EXPECT_EQ(v.read().item<float>(), -6.f);
  EXPECT_EQ(sgd.variables().size(), 1U);  // no learning rate among the state
}

TEST(Optimizer, ExcludedVariablesDoNotDecay) {
  const Variable a(constant(1.f)), b(constant(1.f));
  AdamW adamw({.learning_rate = 0.1, .weight_decay = 0.5});
  adamw.exclude_from_weight_decay({b});
  const Gradient zero(constant(0.f));
  adamw.apply({zero, zero}, {a, b});
  EXPECT_NEAR(a.read().item<float>(), 0.95, 1e-6);
  EXPECT_EQ(b.read().item<float>(), 1.f);
}

TEST(Optimizer, VariablesOfSeveralDtypesTogether) {
  const Variable wide(constant({1.0, 2.0})), narrow(cast(constant({1.f, 2.f}), half));
  Adam adam({.learning_rate = 0.1, .clip = {.global_norm = 1}});
  adam.apply({Gradient(constant({3.0, 0.0})), Gradient(cast(constant({0.f, 4.f}), half))},
             {wide, narrow});
  const auto w = wide.read().to_vector<double>();
  EXPECT_NEAR(w[0], 0.9, 1e-5);
  EXPECT_EQ(w[1], 2.0);
  const auto n = cast(narrow, float32).to_vector<float>();
  EXPECT_EQ(n[0], 1.f);
  EXPECT_NEAR(n[1], 1.9, 2e-3);
}

TEST(Optimizer, FixedLossScaleCancels) {
  const Variable v(constant(3.f));
  SGD sgd({.learning_rate = 0.5, .loss_scale_factor = 64});
  GradientTape tape;
  const Tensor loss = sgd.scale_loss(square(v));
  EXPECT_EQ(loss.item<float>(), 9 * 64.f);
  sgd.apply({tape.gradient(loss, v)}, {v});
  EXPECT_EQ(v.read().item<float>(), 0.f);
}

// Each of them fits a line through points that lie on one.
TEST(Optimizer, AllOfThemLearn) {
  std::vector<std::unique_ptr<Optimizer>> all;
  all.push_back(std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.5}));
  all.push_back(std::make_unique<Adam>(AdamOptions{.learning_rate = 0.1}));
  all.push_back(
      std::make_unique<AdamW>(AdamWOptions{.learning_rate = 0.1, .weight_decay = 1e-5}));
  all.push_back(std::make_unique<RMSprop>(RMSpropOptions{.learning_rate = 0.02}));
  all.push_back(std::make_unique<Adagrad>(AdagradOptions{.learning_rate = 0.5}));
  all.push_back(std::make_unique<LossScaleOptimizer>(
      std::make_unique<SGD>(SGDOptions{.learning_rate = 0.3})));
  const Tensor x = constant({{-1.f}, {0.f}, {1.f}, {2.f}});
  const Tensor y = constant({{-1.f}, {1.f}, {3.f}, {5.f}});
  for (const auto& optimizer : all) {
    const layers::Dense line(1, 1, {.seed = 1});
    float last = 0;
    for (int i = 0; i < 200; ++i) {
      GradientTape tape;
      const Tensor loss = losses::mean_squared_error(y, line(x));
      const Tensor scaled = optimizer->scale_loss(loss);
      optimizer->apply(tape.gradient(scaled, line.variables()), line.variables());
      last = loss.item<float>();
    }
    EXPECT_LT(last, 0.02) << optimizer->variables()[0].name();
    EXPECT_NEAR(line.kernel.read().to_vector<float>()[0], 2, 0.2);
  }
}

}  // namespace
}  // namespace tandem
