// Optimizer: turns gradients into new values of variables. GradientOptimizer is the part
// that all of Keras's optimizers share: learning rate, clipping, weight decay, state. An
// optimizer belongs to its caller; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tandem/gradient.h"
#include "tandem/tensor.h"
#include "tandem/variable.h"

namespace tandem::optimizers {

class Optimizer {
 public:
  Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  /// Makes the state for these variables, on their devices. The first `apply` does it
  /// too; later calls change nothing.
  virtual void build(const std::vector<Variable>& variables) = 0;
  /// One step: gradients[i] belongs to variables[i]. Variables whose gradient is not
  /// defined stay as they are.
  virtual void apply(const std::vector<Gradient>& gradients,
                     const std::vector<Variable>& variables) = 0;
  /// The loss to take gradients of; `apply` undoes the scale.
  virtual Tensor scale_loss(const Tensor& loss) = 0;
  /// All state, in Keras's order: iteration, learning rate, then by variable.
  virtual std::vector<Variable> variables() const = 0;
};

/// A number, kept in a variable so that it can be set between steps, or a function of the
/// iteration count (a scalar int64 tensor), which becomes part of a traced step.
class LearningRate {
 public:
  using Schedule = std::function<Tensor(const Tensor& iterations)>;
  LearningRate(double value) : value_(value) {}
  template <class F>
    requires std::is_invocable_r_v<Tensor, F, const Tensor&>
  LearningRate(F schedule) : schedule_(std::move(schedule)) {}

  bool is_schedule() const { return static_cast<bool>(schedule_); }
  double value() const { return value_; }
  const Schedule& schedule() const { return schedule_; }

 private:
  double value_ = 0;
  Schedule schedule_ = {};
};

/// At most one of them. Keras's clipnorm, clipvalue and global_clipnorm.
struct Clipping {
  std::optional<double> norm = {};         // of each gradient
  std::optional<double> value = {};        // of each element
  std::optional<double> global_norm = {};  // of all gradients together
};

/// What every optimizer can be told.
struct CommonOptions {
  LearningRate learning_rate = 0.001;
  /// Decoupled: before each update, variable -= variable * weight_decay * learning_rate.
  std::optional<double> weight_decay = {};
  Clipping clip = {};
  /// A fixed scale of the loss; see LossScaleOptimizer for one that adapts.
  std::optional<double> loss_scale_factor = {};
  std::string name = "optimizer";
};

class GradientOptimizer : public Optimizer {
 public:
  void build(const std::vector<Variable>& variables) override;
  void apply(const std::vector<Gradient>& gradients,
             const std::vector<Variable>& variables) override;
  /// The same where the scalar `condition` is true; else nothing changes at all.
  void apply_if(const Tensor& condition, const std::vector<Gradient>& gradients,
                const std::vector<Variable>& variables);
  Tensor scale_loss(const Tensor& loss) override;
  std::vector<Variable> variables() const override;

  /// Steps done, a scalar int64 variable; undefined before `build`.
  const Variable& iterations() const { return iterations_; }
  /// The learning rate of the next step.
  Tensor learning_rate() const;
  /// Throws ValueError when the learning rate is a schedule.
  void set_learning_rate(double value);
  /// Before the first step: these variables do not decay.
  void exclude_from_weight_decay(const std::vector<Variable>& variables);

 protected:
  /// A state variable that each model variable gets.
  struct SlotSpec {
    const char* name;
    double initial = 0;
  };
  /// How an optimizer takes gradients that are slices.
  enum class RowUpdates {
    kDense,         // as one dense gradient
    kDistinctRows,  // by update_rows; equal rows are added up before
    kAnyRows,       // by update_rows; equal rows may come several times
  };
  struct Target {
    const Variable& variable;
    std::span<const Variable> slots;  // in the order of the specifications
    Tensor step_size;                 // in the variable's dtype
  };

  explicit GradientOptimizer(CommonOptions options);

  virtual std::vector<SlotSpec> slot_specs() const = 0;
  /// The factor that all variables of one dtype share; the learning rate by default.
  virtual Tensor step_size(const Tensor& learning_rate) const { return learning_rate; }
  virtual void update(const Target& target, const Tensor& gradient) = 0;
  virtual RowUpdates row_updates() const { return RowUpdates::kDense; }
  virtual void update_rows(const Target& target, const IndexedSlices& gradient);

  /// All writes go through these two, which obey the condition of `apply_if`.
  void write(const Variable& variable, const Tensor& value) const;
  /// `value` where the condition holds, else zeros: for updates that add.
  Tensor if_applied(const Tensor& value) const;

 private:
  const std::vector<Variable>& slots_of(const Variable& variable) const;
  void step(const std::vector<Gradient>& gradients,
            const std::vector<Variable>& variables);

  CommonOptions options_;
  Variable iterations_;
  Variable learning_rate_;
  Tensor condition_;  // of the step being applied
  bool built_ = false;
  std::vector<std::vector<Variable>> slots_;
  std::unordered_map<const void*, size_t> slot_index_;  // variable's identity → slots_
  std::unordered_set<const void*> no_decay_;
};

}  // namespace tandem::optimizers
