// LossScaleOptimizer: keeps gradients of narrow dtypes in range. The loss is multiplied
// by a scale before gradients are taken, gradients are divided by it, and a step whose
// gradients are not finite is left out. One thread at a time.
#pragma once

#include <memory>

#include "tandem/train/optimizer.h"

namespace tandem::optimizers {

struct LossScaleOptions {
  double initial_scale = 32768;
  /// Doubles after this many finite steps in a row, halves after one that is not; false:
  /// the scale stays.
  bool dynamic = true;
  int64_t dynamic_growth_steps = 2000;
};

class LossScaleOptimizer final : public Optimizer {
 public:
  explicit LossScaleOptimizer(std::unique_ptr<GradientOptimizer> inner,
                              LossScaleOptions options = {});

  void build(const std::vector<Variable>& variables) override;
  void apply(const std::vector<Gradient>& gradients,
             const std::vector<Variable>& variables) override;
  Tensor scale_loss(const Tensor& loss) override;
  /// The counter of finite steps, the scale, then the inner optimizer's.
  std::vector<Variable> variables() const override;

  GradientOptimizer& inner() { return *inner_; }
  /// Scalar float32 variable; undefined before `build` and the first `scale_loss`.
  const Variable& scale() const { return scale_; }

 private:
  void make_scale();

  std::unique_ptr<GradientOptimizer> inner_;
  LossScaleOptions options_;
  Variable step_counter_;
  Variable scale_;
};

}  // namespace tandem::optimizers
