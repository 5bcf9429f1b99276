#include "tandem/ops.h"
#include "tandem/train/optimizers.h"
#include "train/clipping.h"

namespace tandem::optimizers {

Adagrad::Adagrad(AdagradOptions o)
    : GradientOptimizer(
          {o.learning_rate, o.weight_decay, o.clip, o.loss_scale_factor, o.name}),
      initial_accumulator_value_(o.initial_accumulator_value),
      epsilon_(o.epsilon) {}

std::vector<Adagrad::SlotSpec> Adagrad::slot_specs() const {
  return {{"accumulator", initial_accumulator_value_}};
}

void Adagrad::update(const Target& target, const Tensor& gradient) {
  const Tensor accumulator = target.slots[0] + square(gradient);
  write(target.slots[0], accumulator);
  write(target.variable,
        target.variable - target.step_size * gradient / sqrt(accumulator + epsilon_));
}

void Adagrad::update_rows(const Target& target, const IndexedSlices& given) {
  Variable accumulator = target.slots[0];
  const IndexedSlices gradient = add_up_equal_rows(given);
  const Tensor squares = square(gradient.values);
  // Read before the write: of equal rows one changes, so the sum is the new value.
  const Tensor rows = accumulator.gather(gradient.indices) + squares;
  accumulator.scatter_add(gradient.indices, if_applied(squares));
  const Tensor change = target.step_size * gradient.values / sqrt(rows + epsilon_);
  Variable v = target.variable;
  v.scatter_sub(gradient.indices, if_applied(change));
}

}  // namespace tandem::optimizers
