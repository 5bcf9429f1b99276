// Gradients are written with other ops, so that they work eagerly, traced, and twice. A
// gradient function reads the forward call and sets the gradient of each input that needs
// one.
#pragma once

#include <span>
#include <vector>

#include "op/attrs.h"
#include "tandem/gradient.h"
#include "tandem/tensor.h"

namespace tandem {

struct OpDef;

class GradContext {
 public:
  GradContext(const OpDef& op, AttrsRef attrs, std::span<const Tensor> inputs,
              std::span<const Tensor> outputs, std::span<const Gradient> output_grads,
              std::span<const bool> needs)
      : op_(op),
        attrs_(attrs),
        inputs_(inputs),
        outputs_(outputs),
        grads_(output_grads),
        needs_(needs),
        results_(inputs.size()) {}

  template <class A>
  const A& attrs() const {
    return attrs_.as<A>();
  }
  AttrsRef attrs_ref() const { return attrs_; }
  const OpDef& op() const { return op_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  /// A forward input or output. Only dtype and shape may be used where OpDef::grad_inputs
  /// / grad_outputs say that contents are not kept.
  const Tensor& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  const Tensor& output(int i) const { return outputs_[static_cast<size_t>(i)]; }
  /// Gradient of output i as a tensor; zeros when nothing flows into it.
  Tensor grad(int i = 0) const;
  /// The same as it came: possibly slices, possibly undefined.
  const Gradient& raw_grad(int i = 0) const { return grads_[static_cast<size_t>(i)]; }
  bool has_grad(int i) const { return grads_[static_cast<size_t>(i)].defined(); }
  // Shapes as tensors, right for unknown dimensions too. Never use input(i).shape() in
  // arithmetic: it may be partly unknown when traced.
  Tensor shape_of_input(int i, DType dtype = DType::kInt32) const;
  Tensor shape_of_output(int i, DType dtype = DType::kInt32) const;
  /// Element count as a scalar of that dtype.
  Tensor size_of_input(int i, DType dtype) const;
  /// Whether anybody wants the gradient of input i.
  bool needs(int i) const { return needs_[static_cast<size_t>(i)]; }
  void set(int i, Gradient gradient) {
    results_[static_cast<size_t>(i)] = std::move(gradient);
  }
  std::vector<Gradient>& results() { return results_; }

 private:
  const OpDef& op_;
  AttrsRef attrs_;
  std::span<const Tensor> inputs_, outputs_;
  std::span<const Gradient> grads_;
  std::span<const bool> needs_;
  std::vector<Gradient> results_;
};

}  // namespace tandem
