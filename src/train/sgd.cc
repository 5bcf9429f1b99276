#include <fmt/format.h>

#include "tandem/ops.h"
#include "tandem/train/optimizers.h"

namespace tandem::optimizers {

SGD::SGD(SGDOptions o)
    : GradientOptimizer(
          {o.learning_rate, o.weight_decay, o.clip, o.loss_scale_factor, o.name}),
      momentum_(o.momentum),
      nesterov_(o.nesterov) {
  if (!(momentum_ >= 0 && momentum_ <= 1)) {
    throw ValueError(fmt::format(
        "`momentum` must be a float between [0, 1]. Received: momentum={}", momentum_));
  }
}

std::vector<SGD::SlotSpec> SGD::slot_specs() const {
  if (momentum_ == 0) return {};
  return {{"momentum"}};
}

void SGD::update(const Target& target, const Tensor& gradient) {
  const Tensor change = gradient * target.step_size;
  if (momentum_ == 0) {
    write(target.variable, target.variable - change);
    return;
  }
  const Variable& m = target.slots[0];
  const Tensor next = m * momentum_ - change;
  write(m, next);
  write(target.variable,
        target.variable + (nesterov_ ? next * momentum_ - change : next));
}

SGD::RowUpdates SGD::row_updates() const {
  return momentum_ == 0 ? RowUpdates::kAnyRows : RowUpdates::kDense;
}

void SGD::update_rows(const Target& target, const IndexedSlices& gradient) {
  Variable v = target.variable;
  v.scatter_sub(gradient.indices, if_applied(gradient.values * target.step_size));
}

}  // namespace tandem::optimizers
