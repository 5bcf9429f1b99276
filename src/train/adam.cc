#include "tandem/ops.h"
#include "tandem/train/optimizers.h"

namespace tandem::optimizers {

Adam::Adam(AdamOptions o)
    : GradientOptimizer(
          {o.learning_rate, o.weight_decay, o.clip, o.loss_scale_factor, o.name}),
      beta_1_(o.beta_1),
      beta_2_(o.beta_2),
      epsilon_(o.epsilon),
      amsgrad_(o.amsgrad) {}

std::vector<Adam::SlotSpec> Adam::slot_specs() const {
  std::vector<SlotSpec> specs = {{"momentum"}, {"velocity"}};
  if (amsgrad_) specs.push_back({"velocity_hat"});
  return specs;
}

Tensor Adam::step_size(const Tensor& learning_rate) const {
  const DType dtype = learning_rate.dtype();
  const Tensor step = cast(add(iterations(), 1), dtype);
  const Tensor power_1 = pow(beta_1_, step);
  const Tensor power_2 = pow(beta_2_, step);
  return learning_rate * sqrt(1 - power_2) / (1 - power_1);
}

void Adam::update(const Target& target, const Tensor& gradient) {
  const Tensor m = target.slots[0], v = target.slots[1];
  const Tensor next_m = m + (gradient - m) * (1 - beta_1_);
  const Tensor next_v = v + (square(gradient) - v) * (1 - beta_2_);
  write(target.slots[0], next_m);
  write(target.slots[1], next_v);
  Tensor divisor = next_v;
  if (amsgrad_) {
    divisor = maximum(target.slots[2], next_v);
    write(target.slots[2], divisor);
  }
  write(target.variable,
        target.variable - next_m * target.step_size / (sqrt(divisor) + epsilon_));
}

AdamW::AdamW(AdamWOptions o)
    : Adam({.learning_rate = o.learning_rate,
            .beta_1 = o.beta_1,
            .beta_2 = o.beta_2,
            .epsilon = o.epsilon,
            .amsgrad = o.amsgrad,
            .weight_decay = o.weight_decay,
            .clip = o.clip,
            .loss_scale_factor = o.loss_scale_factor,
            .name = o.name}) {}

}  // namespace tandem::optimizers
