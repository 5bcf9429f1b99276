// Forward mode from reverse mode: the vector-Jacobian product u ↦ Jᵀu is linear in u, and
// its own vector-Jacobian product with t is Jt. So one gradient per op serves both modes.
#include <fmt/format.h>

#include "graph/autodiff.h"
#include "op/call_gradient.h"
#include "op/emitter.h"
#include "run/tape.h"
#include "tandem/gradient.h"
#include "tandem/ops.h"
#include "tensor/tensor_list.h"
#include "tensor/variable_impl.h"
#include "tensor/variant.h"

namespace tandem {

namespace {

// Lists have one, element by element: loops keep in them what their gradients read.
bool has_tangent(const Tensor& t) {
  if (t.dtype() != DType::kVariant) return trainable_dtype(t.dtype());
  return t.impl()->symbolic || variant_value<TensorList>(t);
}

}  // namespace

class ForwardAccumulator::Impl final : public ForwardListener {
 public:
  void watch(const Tensor& primal, const Tensor& tangent) {
    tangents_[primal.impl()->id] = tangent;
  }

  Tensor find(const Tensor& t) const {
    const auto it = tangents_.find(t.impl()->id);
    return it == tangents_.end() ? Tensor() : it->second;
  }

  bool follows(const Tensor& t) const override { return !busy_ && find(t).defined(); }

  void on_call(std::span<const TensorArg> inputs, std::span<const Tensor> outputs,
               const Backward& backward) override {
    if (busy_) return;
    std::vector<Tensor> tangents(inputs.size());
    auto needs = std::make_unique<bool[]>(inputs.size());
    bool any = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].impl()) tangents[i] = find(inputs[i].get());
      needs[i] = tangents[i].defined();
      any |= needs[i];
    }
    if (!any) return;
    busy_ = true;
    struct Done {
      bool& flag;
      ~Done() { flag = false; }
    } done{busy_};

    Tape tape({.persistent = false, .watch_accessed_variables = false});
    push_tape(&tape);
    struct Remove {
      Tape* tape;
      ~Remove() { remove_tape(tape); }
    } remove{&tape};
    std::vector<Gradient> seeds;
    std::vector<Source> sources;
    std::vector<size_t> source_of;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!has_tangent(outputs[i])) {
        seeds.emplace_back();
        continue;
      }
      const Tensor seed = zero_gradient(outputs[i]);
      tape.watch(seed);
      seeds.emplace_back(seed);
      sources.emplace_back(seed);
      source_of.push_back(i);
    }
    if (sources.empty()) return;
    std::vector<Gradient> back = backward(seeds, {needs.get(), inputs.size()});
    std::vector<Tensor> targets;
    GradientOptions options;
    for (size_t i = 0; i < inputs.size() && i < back.size(); ++i) {
      if (!needs[i] || !back[i].defined()) continue;
      targets.push_back(back[i].dense());
      options.output_gradients.push_back(tangents[i]);
    }
    remove_tape(&tape);
    if (targets.empty()) return;
    const std::vector<Gradient> result = tape.gradient(targets, sources, options);
    for (size_t k = 0; k < result.size(); ++k) {
      if (result[k].defined()) watch(outputs[source_of[k]], result[k].dense());
    }
  }

 private:
  std::unordered_map<uint64_t, Tensor> tangents_;
  bool busy_ = false;  // ops run for the derivative itself have no tangents here
};

ForwardAccumulator::ForwardAccumulator(const std::vector<Source>& primals,
                                       const std::vector<Tensor>& tangents)
    : impl_(std::make_shared<Impl>()) {
  if (primals.size() != tangents.size()) {
    throw ValueError(fmt::format("ForwardAccumulator: {} primals but {} tangents",
                                 primals.size(), tangents.size()));
  }
  for (size_t i = 0; i < primals.size(); ++i) {
    const Tensor& p = primals[i].tensor();
    const Shape shape = p.dtype() == DType::kResource ? variable_of(p).shape : p.shape();
    if (!shape.compatible_with(tangents[i].shape())) {
      throw ValueError(fmt::format(
          "ForwardAccumulator: the tangent of primal {} has shape {}, expected {}", i,
          tangents[i].shape().str(), shape.str()));
    }
    impl_->watch(p, tangents[i]);
  }
  push_forward(impl_.get());
}

ForwardAccumulator::~ForwardAccumulator() { remove_forward(impl_.get()); }

Tensor ForwardAccumulator::jvp(const Tensor& target, Unconnected unconnected) const {
  const Tensor t = impl_->find(target);
  if (t.defined() || unconnected == Unconnected::kNone) return t;
  return zeros_like(target);
}

}  // namespace tandem
