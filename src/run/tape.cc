#include "run/tape.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "op/emitter.h"
#include "tensor/variable_impl.h"

namespace tandem {

struct Listeners {
  std::vector<Tape*> tapes;
  std::vector<ForwardListener*> forwards;
};

namespace {

thread_local Listeners t_lists;

void update_count() {
  t_thread.listeners =
      static_cast<int32_t>(t_lists.tapes.size() + t_lists.forwards.size());
}

// Ids start above 0, which therefore stands for an absent optional input.
uint64_t id_of(const Tensor& t) { return t.impl() ? t.impl()->id : 0; }

}  // namespace

void push_tape(Tape* tape) {
  tape->active = true;
  t_lists.tapes.push_back(tape);
  update_count();
}
void remove_tape(Tape* tape) {
  if (!tape->active) return;
  tape->active = false;
  std::erase(t_lists.tapes, tape);
  update_count();
}
Tape* newest_tape() { return t_lists.tapes.empty() ? nullptr : t_lists.tapes.back(); }
void push_forward(ForwardListener* listener) {
  t_lists.forwards.push_back(listener);
  update_count();
}
void remove_forward(ForwardListener* listener) {
  std::erase(t_lists.forwards, listener);
  update_count();
}

HideListeners::HideListeners()
    : outer_(std::make_unique<Listeners>(std::exchange(t_lists, {}))),
      paused_(std::exchange(t_thread.paused, 0)) {
  update_count();
}
HideListeners::~HideListeners() {
  t_lists = std::move(*outer_);
  t_thread.paused = paused_;
  update_count();
}
bool HideListeners::watched(const Tensor& tensor) const {
  if (paused_ || !trainable_dtype(tensor.dtype())) return false;
  return std::any_of(outer_->tapes.begin(), outer_->tapes.end(),
                     [&](const Tape* t) { return t->watches(tensor); }) ||
         std::any_of(outer_->forwards.begin(), outer_->forwards.end(),
                     [&](const ForwardListener* f) { return f->follows(tensor); });
}

VariableWatcher::VariableWatcher()
    : tape_({.persistent = false, .watch_accessed_variables = true}) {
  tape_.variables_only = true;
  push_tape(&tape_);
}
VariableWatcher::~VariableWatcher() { remove_tape(&tape_); }

namespace {
bool wants(const Tape& tape, const Tensor& tensor) {
  return tape.watches(tensor) ||
         (tape.options().watch_accessed_variables && tensor.dtype() == DType::kResource &&
          variable_of(tensor).trainable);
}
}  // namespace

bool tapes_want(const Tensor& tensor) {
  if (!recording()) return false;
  return std::any_of(t_lists.forwards.begin(), t_lists.forwards.end(),
                     [&](const ForwardListener* f) { return f->follows(tensor); }) ||
         std::any_of(t_lists.tapes.begin(), t_lists.tapes.end(),
                     [&](const Tape* tape) { return wants(*tape, tensor); });
}

int gradient_order(std::span<const TensorArg> sources) {
  int order = 0;
  for (const ForwardListener* forward : t_lists.forwards) {
    const bool follows =
        std::any_of(sources.begin(), sources.end(),
                    [&](const TensorArg& t) { return forward->follows(t.get()); });
    if (follows) order += 2;  // a gradient of a gradient
  }
  for (const Tape* tape : t_lists.tapes) {
    const bool follows =
        !tape->variables_only &&
        std::any_of(sources.begin(), sources.end(),
                    [&](const TensorArg& t) { return wants(*tape, t.get()); });
    if (follows) order += tape->options().persistent ? 2 : 1;
  }
  return order;
}

namespace {
// By index: a listener runs ops, and those may come and go with listeners of their own.
void tell_forwards(std::span<const TensorArg> inputs, std::span<const Tensor> outputs,
                   const ForwardListener::Backward& backward) {
  for (size_t i = 0; i < t_lists.forwards.size(); ++i) {
    t_lists.forwards[i]->on_call(inputs, outputs, backward);
  }
}
}  // namespace

void record_call(const Ref<CallPlan>& plan, std::span<const TensorArg> inputs,
                 std::span<const Tensor> outputs) {
  for (Tape* tape : t_lists.tapes) tape->record(plan, inputs, outputs);
  if (t_lists.forwards.empty() || !plan->op->differentiable) return;
  std::vector<Tensor> ins;
  for (const TensorArg& t : inputs) ins.push_back(t.get());
  tell_forwards(
      inputs, outputs, [&](std::span<const Gradient> grads, std::span<const bool> needs) {
        return call_gradient(*plan->op, plan->attrs.ref(), ins, outputs, grads, needs);
      });
}

void record_op(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
               std::span<const Tensor> outputs) {
  auto plan = make_ref<CallPlan>();
  plan->op = &op;
  plan->attrs = Attrs(attrs);
  for (const TensorArg& t : inputs) {
    plan->inputs.push_back(t.impl() ? CallPlan::Input{t.impl()->dtype, t.impl()->shape}
                                    : CallPlan::Input{});
  }
  for (const Tensor& t : outputs) {
    plan->outputs.push_back({t.dtype(), t.shape(), 0, nullptr});
  }
  record_call(plan, inputs, outputs);
}

void record_custom(std::span<const TensorArg> inputs, std::span<const Tensor> outputs,
                   RecordedBackward backward) {
  record_selective(inputs, outputs,
                   [backward = std::move(backward)](std::span<const Gradient> grads,
                                                    std::span<const bool>) {
                     return backward(grads);
                   });
}

void record_selective(std::span<const TensorArg> inputs, std::span<const Tensor> outputs,
                      SelectiveBackward backward) {
  if (!recording()) return;
  auto shared = std::make_shared<SelectiveBackward>(std::move(backward));
  for (Tape* tape : t_lists.tapes) tape->record_custom(inputs, outputs, shared);
  tell_forwards(inputs, outputs, *shared);
}

namespace {
void require_defined(const Tensor& t, const char* what) {
  if (t.defined()) return;
  throw InvalidArgumentError(
      fmt::format("GradientTape: a {} is not a tensor. Give it a value.", what));
}
}  // namespace

void Tape::watch(const Tensor& tensor) {
  require_defined(tensor, "source");
  const DType dtype =
      tensor.dtype() == DType::kResource ? variable_of(tensor).dtype : tensor.dtype();
  if (!trainable_dtype(dtype)) return;
  if (!ids_.contains(id_of(tensor))) {
    ids_.set(id_of(tensor), 0);
    if (tensor.dtype() == DType::kResource) variables_.push_back(tensor);
  }
}

void Tape::watch_accessed(std::span<const TensorArg> inputs) {
  if (!options_.watch_accessed_variables) return;
  for (const TensorArg& t : inputs) {
    if (t.get().dtype() == DType::kResource && variable_of(t.get()).trainable) {
      watch(t.get());
    }
  }
}

bool Tape::any_watched(std::span<const TensorArg> inputs) const {
  for (const TensorArg& t : inputs) {
    if (t.impl() && ids_.contains(t.impl()->id)) return true;
  }
  return false;
}

void Tape::record(const Ref<CallPlan>& plan, std::span<const TensorArg> inputs,
                  std::span<const Tensor> outputs) {
  const OpDef& op = *plan->op;
  if (!op.differentiable) return;
  watch_accessed(inputs);
  if (variables_only || !any_watched(inputs)) return;
  Node node;
  node.plan = plan;
  push(std::move(node), inputs, outputs, op.grad_inputs, op.grad_outputs);
}

void Tape::record_custom(std::span<const TensorArg> inputs,
                         std::span<const Tensor> outputs,
                         std::shared_ptr<SelectiveBackward> backward) {
  watch_accessed(inputs);
  if (variables_only || !any_watched(inputs)) return;
  Node node;
  node.custom = std::move(backward);
  // The backward function owns what it needs; the tape wants identities and shapes only.
  push(std::move(node), inputs, outputs, 0, 0);
}

void Tape::push(Node node, std::span<const TensorArg> inputs,
                std::span<const Tensor> outputs, uint32_t keep_inputs,
                uint32_t keep_outputs) {
  node.first = static_cast<uint32_t>(entries_.size());
  node.num_inputs = static_cast<uint32_t>(inputs.size());
  node.num_outputs = static_cast<uint32_t>(outputs.size());
  const auto keep = [](uint32_t mask, size_t i) {
    return (mask >> std::min<size_t>(i, 31) & 1u) != 0;
  };
  const auto add = [this](const Tensor& t, bool whole) {
    const TensorImpl& impl = *t.impl();
    // Handles of variables and of traced values hold no contents.
    whole = whole || impl.dtype == DType::kResource || impl.symbolic;
    entries_.push_back({whole ? t : Tensor(), impl.id, impl.dtype, impl.device});
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].impl()) {
      entries_.emplace_back();
      continue;
    }
    const int def = node.plan ? node.plan->op->def_index(static_cast<int>(i)) : 0;
    add(inputs[i].get(), node.plan && keep(keep_inputs, static_cast<size_t>(def)));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.plan && node.plan->op->dynamic && !keep(keep_outputs, i)) {
      add(make_ghost(outputs[i]), true);  // the plan does not know its shape
    } else {
      add(outputs[i], keep(keep_outputs, i));
    }
    if (trainable_dtype(outputs[i].impl()->dtype)) {
      ids_.set(id_of(outputs[i]), static_cast<uint32_t>(nodes_.size()));
    }
  }
  nodes_.push_back(std::move(node));
}

std::vector<Tensor> Tape::input_tensors(const Node& n) const {
  std::vector<Tensor> result;
  for (size_t i = 0; i < n.num_inputs; ++i) {
    const Entry& e = inputs(n)[i];
    const bool ready = e.kept.defined() || !e.id;
    result.push_back(
        ready ? e.kept : make_ghost(e.id, e.dtype, n.plan->inputs[i].shape, e.device));
  }
  return result;
}

std::vector<Tensor> Tape::output_tensors(const Node& n) const {
  std::vector<Tensor> result;
  for (size_t i = 0; i < n.num_outputs; ++i) {
    const Entry& e = outputs(n)[i];
    result.push_back(e.kept.defined()
                         ? e.kept
                         : make_ghost(e.id, e.dtype, n.plan->outputs[i].shape, e.device));
  }
  return result;
}

void Tape::reset() {
  ids_.clear();
  nodes_.clear();
  entries_.clear();
  variables_.clear();
  used = false;
}

std::vector<Variable> Tape::watched_variables() const {
  std::vector<Variable> result;
  for (const Tensor& handle : variables_) result.push_back(Variable::from_handle(handle));
  return result;
}

std::vector<Gradient> Tape::gradient(std::span<const Tensor> targets,
                                     std::span<const Source> sources,
                                     const GradientOptions& options) {
  // The record may grow while gradients run (a persistent tape records them too).
  const size_t num_nodes = nodes_.size();

  // What depends on a source: only there gradients are wanted.
  IdMap wanted;
  for (const Tensor& t : targets) require_defined(t, "target");
  for (const Source& s : sources) {
    require_defined(s.tensor(), "source");
    wanted.set(id_of(s.tensor()), 1);
  }
  std::vector<char> on_path(num_nodes, 0);
  for (size_t i = 0; i < num_nodes; ++i) {
    for (const Entry& e : inputs(nodes_[i])) on_path[i] |= e.id && wanted.contains(e.id);
    if (!on_path[i]) continue;
    for (const Entry& e : outputs(nodes_[i])) {
      if (trainable_dtype(e.dtype)) wanted.set(e.id, 1);
    }
  }

  std::unordered_map<uint64_t, Gradient> grads;
  auto accumulate = [&grads](uint64_t id, Gradient g) {
    Gradient& slot = grads[id];
    slot = add_gradients(slot, g);
  };
  static const OpHandle ones_like("OnesLike");
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!wanted.contains(id_of(targets[i]))) continue;
    const bool given =
        i < options.output_gradients.size() && options.output_gradients[i].defined();
    accumulate(id_of(targets[i]),
               given ? options.output_gradients[i] : emit(ones_like, {targets[i]}));
  }

  for (size_t i = num_nodes; i-- > 0;) {
    if (!on_path[i]) continue;
    const Node node = nodes_[i];
    std::vector<Gradient> output_grads;
    bool any = false;
    for (const Entry& e : outputs(node)) {
      auto it = grads.find(e.id);
      output_grads.push_back(it == grads.end() ? Gradient() : it->second);
      any |= it != grads.end();
    }
    if (!any) continue;
    // Copies: running gradients may record on this tape and move its vectors.
    const std::vector<Entry> ins(inputs(node).begin(), inputs(node).end());
    const std::vector<Entry> outs(outputs(node).begin(), outputs(node).end());
    auto needs = std::make_unique<bool[]>(ins.size());
    for (size_t k = 0; k < ins.size(); ++k) {
      needs[k] = ins[k].id && wanted.contains(ins[k].id);
    }
    std::vector<Gradient> results =
        node.custom ? (*node.custom)(output_grads, {needs.get(), ins.size()})
                    : call_gradient(*node.plan->op, node.plan->attrs.ref(),
                                    input_tensors(node), output_tensors(node),
                                    output_grads, {needs.get(), ins.size()});
    for (size_t k = 0; k < ins.size() && k < results.size(); ++k) {
      if (needs[k] && results[k].defined()) accumulate(ins[k].id, std::move(results[k]));
    }
    // Intermediate gradients are done with, unless a source is intermediate itself.
    for (const Entry& e : outs) {
      const bool is_source =
          std::any_of(sources.begin(), sources.end(),
                      [&](const Source& s) { return id_of(s.tensor()) == e.id; });
      if (!is_source) grads.erase(e.id);
    }
  }

  std::vector<Gradient> result;
  for (const Source& s : sources) {
    auto it = grads.find(id_of(s.tensor()));
    if (it != grads.end()) {
      result.push_back(it->second);
    } else if (options.unconnected == Unconnected::kZero) {
      static const OpHandle zeros_like("ZerosLike");
      const bool variable = s.tensor().dtype() == DType::kResource;
      result.push_back(
          emit(zeros_like,
               {variable ? Variable::from_handle(s.tensor()).read() : s.tensor()}));
    } else {
      result.emplace_back();
    }
  }
  return result;
}

}  // namespace tandem
