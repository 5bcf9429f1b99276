#include "tandem/train/loss_scale.h"

#include <fmt/format.h>

#include "tandem/device.h"
#include "tandem/ops.h"
#include "tandem/train/initializers.h"
#include "train/clipping.h"

namespace tandem::optimizers {

namespace {

Tensor all_finite(const std::vector<Gradient>& gradients) {
  std::vector<Tensor> each;
  for (const Gradient& g : gradients) {
    if (!g.defined()) continue;
    each.push_back(reduce_all(is_finite(g.is_slices() ? g.slices().values : g.dense())));
  }
  if (each.empty()) throw ValueError("No gradients provided for any variable.");
  return each.size() == 1 ? each[0] : reduce_all(stack(each));
}

}  // namespace

LossScaleOptimizer::LossScaleOptimizer(std::unique_ptr<GradientOptimizer> inner,
                                       LossScaleOptions options)
    : inner_(std::move(inner)), options_(options) {
  if (!inner_) throw ValueError("LossScaleOptimizer: there is no inner optimizer.");
  if (!(options_.initial_scale > 0) || options_.dynamic_growth_steps < 1) {
    throw ValueError(
        fmt::format("LossScaleOptimizer: initial_scale ({}) must be positive and "
                    "dynamic_growth_steps ({}) at least 1.",
                    options_.initial_scale, options_.dynamic_growth_steps));
  }
}

void LossScaleOptimizer::make_scale() {
  if (scale_.defined()) return;
  step_counter_ = Variable(initializers::constant({}, 0, DType::kInt64),
                           {.name = "loss_scale/step_counter", .trainable = false});
  scale_ = Variable(initializers::constant({}, options_.initial_scale),
                    {.name = "loss_scale/dynamic_scale", .trainable = false});
}

void LossScaleOptimizer::build(const std::vector<Variable>& variables) {
  if (variables.empty()) return;
  inner_->build(variables);
  const DeviceScope scope(variables[0].device());
  make_scale();
}

Tensor LossScaleOptimizer::scale_loss(const Tensor& loss) {
  // A traced step scales its loss before the first `apply`: it must find the variable.
  make_scale();
  return multiply(loss, cast(scale_, loss.dtype()));
}

std::vector<Variable> LossScaleOptimizer::variables() const {
  std::vector<Variable> all;
  if (scale_.defined()) all = {step_counter_, scale_};
  for (const Variable& v : inner_->variables()) all.push_back(v);
  return all;
}

void LossScaleOptimizer::apply(const std::vector<Gradient>& gradients,
                               const std::vector<Variable>& variables) {
  build(variables);
  if (!scale_.defined()) return;
  const DeviceScope scope(scale_.device());
  const Tensor finite = all_finite(gradients);
  const Tensor scale = scale_;
  std::vector<Gradient> unscaled;
  for (const Gradient& g : gradients) {
    unscaled.push_back(map_gradient(
        g, [&](const Tensor& x) { return divide(x, cast(scale, x.dtype())); }));
  }
  inner_->apply_if(finite, unscaled, variables);
  if (!options_.dynamic) return;
  const Tensor counter = step_counter_;
  const Tensor grows =
      logical_and(finite, equal(counter, options_.dynamic_growth_steps - 1));
  step_counter_.assign(where(logical_and(finite, logical_not(grows)), add(counter, 1),
                             zeros_like(counter)));
  scale_.assign(
      where(grows, multiply(scale, 2.0), where(finite, scale, multiply(scale, 0.5))));
}

}  // namespace tandem::optimizers
