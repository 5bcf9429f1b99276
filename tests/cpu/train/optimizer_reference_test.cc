// Every optimizer and option over ten steps against Keras, and gradients that are slices.
#include <memory>

#include "reference.h"
#include "tandem/train.h"

namespace tandem {
namespace {

using namespace optimizers;
using testing::expect_equal;
using testing::json;

/// Sets the options that all optimizers have.
template <class Options>
void set_common(Options& o, const json& options, const json& schedule) {
  const auto limit = [&](const char* name) -> std::optional<double> {
    if (!options.contains(name)) return {};
    return options[name].get<double>();
  };
  if (options.contains("learning_rate")) {
    o.learning_rate = options["learning_rate"].get<double>();
  }
  if (!schedule.is_null()) {
    const double first = schedule["initial_learning_rate"], rate = schedule["decay_rate"];
    const double steps = schedule["decay_steps"];
    o.learning_rate = [=](const Tensor& iterations) {
      return first * pow(rate, cast(iterations, float32) / steps);
    };
  }
  if (options.contains("weight_decay")) o.weight_decay = options["weight_decay"];
  o.clip = {limit("clipnorm"), limit("clipvalue"), limit("global_clipnorm")};
  o.loss_scale_factor = limit("loss_scale_factor");
}

template <class Options>
void set_adam(Options& o, const json& options) {
  o.beta_1 = options.value("beta_1", o.beta_1);
  o.beta_2 = options.value("beta_2", o.beta_2);
  o.epsilon = options.value("epsilon", o.epsilon);
  o.amsgrad = options.value("amsgrad", o.amsgrad);
}

std::unique_ptr<GradientOptimizer> make(const std::string& name, const json& options,
                                        const json& schedule = {}) {
  if (name == "SGD") {
    SGDOptions o;
    set_common(o, options, schedule);
    o.momentum = options.value("momentum", o.momentum);
    o.nesterov = options.value("nesterov", o.nesterov);
    return std::make_unique<SGD>(o);
  }
  if (name == "Adam") {
    AdamOptions o;
    set_common(o, options, schedule);
    set_adam(o, options);
    return std::make_unique<Adam>(o);
  }
  if (name == "AdamW") {
    AdamWOptions o;
    set_common(o, options, schedule);
    set_adam(o, options);
    return std::make_unique<AdamW>(o);
  }
  if (name == "RMSprop") {
    RMSpropOptions o;
    set_common(o, options, schedule);
    o.rho = options.value("rho", o.rho);
    o.momentum = options.value("momentum", o.momentum);
    o.epsilon = options.value("epsilon", o.epsilon);
    o.centered = options.value("centered", o.centered);
    return std::make_unique<RMSprop>(o);
  }
  AdagradOptions o;
  set_common(o, options, schedule);
  o.initial_accumulator_value =
      options.value("initial_accumulator_value", o.initial_accumulator_value);
  o.epsilon = options.value("epsilon", o.epsilon);
  return std::make_unique<Adagrad>(o);
}

/// Keras lists slots by variable here too, but those of RMSprop by kind.
std::vector<Variable> in_order_of_keras(const std::string& name,
                                        const std::vector<Variable>& all, size_t count,
                                        size_t leading) {
  const size_t slots = (all.size() - leading) / count;
  if (name != "RMSprop" && !(name == "Adam" && slots == 3)) return all;
  std::vector<Variable> result(all.begin(), all.begin() + static_cast<long>(leading));
  // Adam adds momentum and velocity together, the third slot afterwards.
  const size_t together = name == "Adam" ? 2 : 1;
  for (size_t first = 0; first < slots; first += together) {
    for (size_t v = 0; v < count; ++v) {
      for (size_t s = first; s < std::min(slots, first + together); ++s) {
        result.push_back(all[leading + v * slots + s]);
      }
    }
  }
  return result;
}

TEST(OptimizerReference, TenStepsAreKeras) {
  for (const json& c : testing::reference("optimizers")) {
    const std::string name = c["optimizer"];
    SCOPED_TRACE(name + " " + c["options"].dump() + " " + c["note"].get<std::string>());
    std::unique_ptr<GradientOptimizer> inner = make(name, c["options"], c["schedule"]);
    GradientOptimizer* const base = inner.get();
    std::unique_ptr<Optimizer> optimizer;
    size_t leading = c["schedule"].is_null() ? 2 : 1;
    if (c["options"].contains("loss_scale")) {
      const json& scale = c["options"]["loss_scale"];
      optimizer = std::make_unique<LossScaleOptimizer>(
          std::move(inner),
          LossScaleOptions{.initial_scale = scale["initial_scale"],
                           .dynamic_growth_steps = scale["dynamic_growth_steps"]});
      leading += 2;
    } else {
      optimizer = std::move(inner);
    }
    const std::vector<Variable> variables = testing::to_variables(c["initial"]);
    for (size_t step = 0; step < c["gradients"].size(); ++step) {
      const auto rate = c["learning_rates"].find(std::to_string(step));
      if (rate != c["learning_rates"].end()) base->set_learning_rate(*rate);
      std::vector<Gradient> gradients;
      for (const json& g : c["gradients"][step]) {
        gradients.emplace_back(testing::to_tensor(g));
      }
      optimizer->apply(gradients, variables);
      for (size_t i = 0; i < variables.size(); ++i) {
        expect_equal(
            variables[i], c["after"][step][i], 3e-6,
            "variable " + std::to_string(i) + " after step " + std::to_string(step));
      }
    }
    const std::vector<Variable> state =
        in_order_of_keras(name, optimizer->variables(), variables.size(), leading);
    ASSERT_EQ(state.size(), c["state"].size());
    for (size_t i = 0; i < state.size(); ++i) {
      expect_equal(state[i], c["state"][i], 3e-6, "state " + state[i].name());
    }
  }
}

IndexedSlices slices_of(const json& step) {
  const auto rows = step["rows"].get<std::vector<int64_t>>();
  return {testing::to_tensor(step["values"]), constant(rows), constant({5, 2})};
}

TEST(OptimizerReference, SlicesAreKeras) {
  for (const json& c : testing::reference("sparse")) {
    const std::string name = c["optimizer"];
    SCOPED_TRACE(name + " " + c["options"].dump());
    const auto optimizer = make(name, c["options"]);
    const Variable table(testing::to_tensor(c["initial"]));
    for (size_t step = 0; step < c["steps"].size(); ++step) {
      optimizer->apply({Gradient(slices_of(c["steps"][step]))}, {table});
      expect_equal(table, c["after"][step], 3e-6, "step " + std::to_string(step));
    }
  }
}

// A gradient means the same in either form, also when rows are named several times.
TEST(OptimizerReference, SlicesWithEqualRowsAreTheirDenseGradient) {
  const json plain = {{"learning_rate", 0.1}},
             clipped = {{"learning_rate", 0.1}, {"clipnorm", 0.5}};
  for (const json& options : {plain, clipped}) {
    for (const char* name : {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad"}) {
      SCOPED_TRACE(name + options.dump());
      const Tensor start = constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
      const Variable sparse(start), dense(start);
      const auto one = make(name, options), other = make(name, options);
      for (int step = 0; step < 3; ++step) {
        const IndexedSlices slices{constant({{1.f, -1.f}, {2.f, 0.5f}, {-4.f, 3.f}}),
                                   constant({2, 0, 2}), constant({3, 2})};
        one->apply({Gradient(slices)}, {sparse});
        other->apply({Gradient(slices).dense()}, {dense});
      }
      const auto a = sparse.read().to_vector<float>(),
                 b = dense.read().to_vector<float>();
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 3e-6) << i;
      EXPECT_NE(a[0], 1.f);
    }
  }
}

}  // namespace
}  // namespace tandem
