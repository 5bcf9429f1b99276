#include "tandem/train/optimizer.h"

#include <fmt/format.h>

#include "tandem/device.h"
#include "tandem/ops.h"
#include "tandem/train/initializers.h"
#include "train/clipping.h"

namespace tandem::optimizers {

namespace {

const void* identity_of(const Variable& variable) {
  return variable.handle().header().get();
}

Variable make_state(const Variable& like, const Shape& shape, DType dtype, double value,
                    std::string name) {
  const DeviceScope scope(like.device());
  return Variable(initializers::constant(shape, value, dtype),
                  {.name = std::move(name), .trainable = false});
}

void check_lists(size_t gradients, size_t variables) {
  if (gradients != variables) {
    throw ValueError(fmt::format(
        "Optimizer.apply: {} gradients for {} variables. Give one gradient for each "
        "variable; it may be undefined.",
        gradients, variables));
  }
}

}  // namespace

GradientOptimizer::GradientOptimizer(CommonOptions options)
    : options_(std::move(options)) {
  check_clipping(options_.clip);
}

void GradientOptimizer::build(const std::vector<Variable>& variables) {
  if (built_ || variables.empty()) return;
  const std::string& name = options_.name;
  iterations_ = make_state(variables[0], {}, DType::kInt64, 0, name + "/iteration");
  if (!options_.learning_rate.is_schedule()) {
    learning_rate_ = make_state(variables[0], {}, DType::kFloat32,
                                options_.learning_rate.value(), name + "/learning_rate");
  }
  for (const Variable& v : variables) {
    if (!v.shape().is_known()) {
      throw ValueError(fmt::format(
          "Optimizer: variable '{}' has shape {}; its state needs a shape that is fully "
          "known.",
          v.name(), v.shape().str()));
    }
    std::vector<Variable> slots;
    for (const SlotSpec& spec : slot_specs()) {
      slots.push_back(make_state(v, v.shape(), v.dtype(), spec.initial,
                                 fmt::format("{}/{}_{}", name, v.name(), spec.name)));
    }
    slot_index_.emplace(identity_of(v), slots_.size());
    slots_.push_back(std::move(slots));
  }
  built_ = true;
}

std::vector<Variable> GradientOptimizer::variables() const {
  std::vector<Variable> all;
  if (iterations_.defined()) all.push_back(iterations_);
  if (learning_rate_.defined()) all.push_back(learning_rate_);
  for (const auto& slots : slots_) all.insert(all.end(), slots.begin(), slots.end());
  return all;
}

Tensor GradientOptimizer::learning_rate() const {
  if (!options_.learning_rate.is_schedule()) {
    return learning_rate_.defined()
               ? learning_rate_.read()
               : scalar(options_.learning_rate.value(), DType::kFloat32);
  }
  return options_.learning_rate.schedule()(
      iterations_.defined() ? iterations_.read() : scalar(0, DType::kInt64));
}

void GradientOptimizer::set_learning_rate(double value) {
  if (options_.learning_rate.is_schedule()) {
    throw ValueError(
        "This optimizer was created with a schedule as its learning rate, hence its "
        "learning rate is not settable. Create it with a number instead.");
  }
  options_.learning_rate = value;
  if (learning_rate_.defined()) learning_rate_.assign(scalar(value, DType::kFloat32));
}

void GradientOptimizer::exclude_from_weight_decay(
    const std::vector<Variable>& variables) {
  if (built_) {
    throw ValueError(
        "`exclude_from_weight_decay()` can only be configured before the optimizer is "
        "built.");
  }
  for (const Variable& v : variables) no_decay_.insert(identity_of(v));
}

Tensor GradientOptimizer::scale_loss(const Tensor& loss) {
  return options_.loss_scale_factor ? multiply(loss, *options_.loss_scale_factor) : loss;
}

const std::vector<Variable>& GradientOptimizer::slots_of(const Variable& variable) const {
  const auto found = slot_index_.find(identity_of(variable));
  if (found == slot_index_.end()) {
    throw ValueError(fmt::format(
        "Unknown variable: {}. This optimizer can only be called for the variables it "
        "was originally built with. When working with a new set of variables, you "
        "should recreate a new optimizer instance.",
        variable.name()));
  }
  return slots_[found->second];
}

void GradientOptimizer::write(const Variable& variable, const Tensor& value) const {
  Variable target = variable;
  target.assign(condition_.defined() ? where(condition_, value, variable.read()) : value);
}

Tensor GradientOptimizer::if_applied(const Tensor& value) const {
  return condition_.defined() ? where(condition_, value, zeros_like(value)) : value;
}

void GradientOptimizer::update_rows(const Target& target, const IndexedSlices& gradient) {
  update(target, Gradient(gradient).dense());
}

void GradientOptimizer::apply_if(const Tensor& condition,
                                 const std::vector<Gradient>& gradients,
                                 const std::vector<Variable>& variables) {
  condition_ = condition;
  try {
    apply(gradients, variables);
  } catch (...) {
    condition_ = {};
    throw;
  }
  condition_ = {};
}

void GradientOptimizer::apply(const std::vector<Gradient>& gradients,
                              const std::vector<Variable>& variables) {
  check_lists(gradients.size(), variables.size());
  if (gradients.empty()) return;
  build(variables);
  std::vector<Gradient> given;
  std::vector<Variable> targets;
  for (size_t i = 0; i < variables.size(); ++i) {
    slots_of(variables[i]);
    if (!gradients[i].defined()) continue;
    given.push_back(gradients[i]);
    targets.push_back(variables[i]);
  }
  if (given.empty()) throw ValueError("No gradients provided for any variable.");
  step(given, targets);
  const DeviceScope scope(iterations_.device());
  write(iterations_, add(iterations_, 1));
}

void GradientOptimizer::step(const std::vector<Gradient>& given,
                             const std::vector<Variable>& variables) {
  std::vector<Gradient> gradients = given;
  const bool distinct = row_updates() == RowUpdates::kDistinctRows;
  for (Gradient& g : gradients) {
    if (options_.loss_scale_factor) {
      g = map_gradient(g, [scale = *options_.loss_scale_factor](const Tensor& x) {
        return divide(x, scale);
      });
    }
    if (!g.is_slices()) continue;
    if (distinct) {
      g = distinct_rows(g.slices());
    } else if (is_clipping(options_.clip)) {
      g = add_up_equal_rows(g.slices());
    }
  }
  if (is_clipping(options_.clip)) gradients = clip_gradients(options_.clip, gradients);

  // Scalars that depend on the dtype alone are computed once.
  struct Rates {
    Tensor learning_rate, step_size;
  };
  std::unordered_map<int, Rates> rates;
  Tensor current;
  {
    const DeviceScope scope(iterations_.device());
    current = learning_rate();
    for (const Variable& v : variables) {
      Rates& r = rates[static_cast<int>(v.dtype())];
      if (r.step_size.defined()) continue;
      r.learning_rate = cast(current, v.dtype());
      r.step_size = step_size(r.learning_rate);
    }
  }

  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    const DeviceScope scope(v.device());
    const Rates& r = rates.at(static_cast<int>(v.dtype()));
    if (options_.weight_decay && !no_decay_.contains(identity_of(v))) {
      const Tensor value = v.read();
      write(v, value - value * *options_.weight_decay * r.learning_rate);
    }
    const Target target{v, slots_of(v), r.step_size};
    const Gradient g =
        map_gradient(gradients[i], [&](const Tensor& x) { return cast(x, v.dtype()); });
    if (g.is_slices() && row_updates() != RowUpdates::kDense) {
      update_rows(target, g.slices());
    } else {
      update(target, g.dense());
    }
  }
}

}  // namespace tandem::optimizers
