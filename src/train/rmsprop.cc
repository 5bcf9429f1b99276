#include "tandem/ops.h"
#include "tandem/train/optimizers.h"

namespace tandem::optimizers {

RMSprop::RMSprop(RMSpropOptions o)
    : GradientOptimizer(
          {o.learning_rate, o.weight_decay, o.clip, o.loss_scale_factor, o.name}),
      rho_(o.rho),
      momentum_(o.momentum),
      epsilon_(o.epsilon),
      centered_(o.centered) {}

std::vector<RMSprop::SlotSpec> RMSprop::slot_specs() const {
  std::vector<SlotSpec> specs = {{"velocity"}};
  if (momentum_ > 0) specs.push_back({"momentum"});
  if (centered_) specs.push_back({"average_gradient"});
  return specs;
}

void RMSprop::update(const Target& target, const Tensor& gradient) {
  const Tensor velocity = rho_ * target.slots[0].read() + (1 - rho_) * square(gradient);
  write(target.slots[0], velocity);
  Tensor denominator = velocity;
  if (centered_) {
    const Variable& slot = target.slots.back();
    const Tensor average = rho_ * slot.read() + (1 - rho_) * gradient;
    write(slot, average);
    denominator = velocity - square(average);
  }
  Tensor change = target.step_size * gradient / sqrt(denominator + epsilon_);
  if (momentum_ > 0) {
    change = momentum_ * target.slots[1].read() + change;
    write(target.slots[1], change);
  }
  write(target.variable, target.variable - change);
}

}  // namespace tandem::optimizers
