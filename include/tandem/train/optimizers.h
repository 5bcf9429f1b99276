// The optimizers, with Keras 3's update rules, defaults and options. g: gradient,
// lr: learning rate, t: steps done plus one.
//
// Gradients that are slices mean the same as the dense gradient they stand for: equal
// rows are added up first. (Keras adds up the squares of equal rows instead.) SGD
// without momentum and Adagrad touch only the rows that are named; the others decay
// state of all rows at every step, as in Keras.
#pragma once

#include "tandem/train/optimizer.h"

namespace tandem::optimizers {

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  std::optional<double> weight_decay = {};
  Clipping clip = {};
  std::optional<double> loss_scale_factor = {};
  std::string name = "sgd";
};
/// v -= lr * g; with momentum, m = momentum * m - lr * g and v += m, or with Nesterov
/// v += momentum * m - lr * g.
class SGD final : public GradientOptimizer {
 public:
  explicit SGD(SGDOptions options = {});

 protected:
  std::vector<SlotSpec> slot_specs() const override;
  void update(const Target& target, const Tensor& gradient) override;
  RowUpdates row_updates() const override;
  void update_rows(const Target& target, const IndexedSlices& gradient) override;

 private:
  double momentum_;
  bool nesterov_;
};

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  /// Divide by the largest second moment so far.
  bool amsgrad = false;
  std::optional<double> weight_decay = {};
  Clipping clip = {};
  std::optional<double> loss_scale_factor = {};
  std::string name = "adam";
};
/// m += (g - m) * (1 - beta_1), u += (g² - u) * (1 - beta_2), and
/// v -= m * lr * sqrt(1 - beta_2^t) / (1 - beta_1^t) / (sqrt(u) + epsilon).
class Adam : public GradientOptimizer {
 public:
  explicit Adam(AdamOptions options = {});

 protected:
  std::vector<SlotSpec> slot_specs() const override;
  Tensor step_size(const Tensor& learning_rate) const override;
  void update(const Target& target, const Tensor& gradient) override;

 private:
  double beta_1_, beta_2_, epsilon_;
  bool amsgrad_;
};

struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  Clipping clip = {};
  std::optional<double> loss_scale_factor = {};
  std::string name = "adamw";
};
/// Adam that decays weights by default.
class AdamW final : public Adam {
 public:
  explicit AdamW(AdamWOptions options = {});
};

struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  /// Subtract the square of the mean gradient from the mean square.
  bool centered = false;
  std::optional<double> weight_decay = {};
  Clipping clip = {};
  std::optional<double> loss_scale_factor = {};
  std::string name = "rmsprop";
};
/// u = rho * u + (1 - rho) * g², v -= lr * g / sqrt(u + epsilon).
class RMSprop final : public GradientOptimizer {
 public:
  explicit RMSprop(RMSpropOptions options = {});

 protected:
  std::vector<SlotSpec> slot_specs() const override;
  void update(const Target& target, const Tensor& gradient) override;

 private:
  double rho_, momentum_, epsilon_;
  bool centered_;
};

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};
  Clipping clip = {};
  std::optional<double> loss_scale_factor = {};
  std::string name = "adagrad";
};
/// a += g², v -= lr * g / sqrt(a + epsilon).
class Adagrad final : public GradientOptimizer {
 public:
  explicit Adagrad(AdagradOptions options = {});

 protected:
  std::vector<SlotSpec> slot_specs() const override;
  void update(const Target& target, const Tensor& gradient) override;
  RowUpdates row_updates() const override { return RowUpdates::kAnyRows; }
  void update_rows(const Target& target, const IndexedSlices& gradient) override;

 private:
  double initial_accumulator_value_, epsilon_;
};

}  // namespace tandem::optimizers
