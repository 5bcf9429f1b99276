#include "run/compiled_function.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "graph/autodiff.h"
#include "graph/passes/common.h"
#include "graph/states.h"
#include "run/tape.h"
#include "tandem/gradient.h"
#include "tandem/ops.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

// Lists carry gradients of their elements.
bool has_gradient(DType t) {
  return is_floating(t) || is_complex(t) || t == DType::kVariant;
}

// A place of the graph that gradients may be wanted for, with the tensor or handle that
// stands for it on a tape.
struct Origin {
  ValueRef value;
  Tensor tensor;
};

// Which results of a graph a gradient can come in by.
std::vector<size_t> differentiable_results(const Graph& graph) {
  std::vector<size_t> list;
  for (size_t i = 0; i < graph.results().size(); ++i) {
    const ValueRef v = graph.results()[i];
    if (v.defined() && has_gradient(graph.info(v).dtype)) list.push_back(i);
  }
  return list;
}

}  // namespace

// The function with its gradient for one choice of sources: two compiled functions. The
// derivative of `forward` is the next order: what it saves is enough for gradients of
// what this one saves.
struct CompiledFunction::Derivative {
  // What the gradient reads: an argument, or a result of `forward`.
  struct Saved {
    bool argument = false;
    size_t index = 0;
  };
  std::vector<ValueRef> wanted;
  std::vector<ValueRef> wanted_of_forward;
  std::vector<size_t> results;  // that are differentiated
  size_t own_results = 0;       // of the function itself; what is only saved comes after
  std::vector<Saved> saved;
  std::shared_ptr<CompiledFunction> forward;
  std::shared_ptr<CompiledFunction> backward;
  std::vector<GradientForm> forms;

  // Whether the forward function has results beyond those of the function itself.
  bool saves_more() const {
    return forward->function_.graph().results().size() > own_results;
  }
  std::shared_ptr<Derivative> next_order() const {
    return forward->derivative(wanted_of_forward);
  }
  // `outputs`: at least the results of `forward`.
  std::vector<Gradient> pull_back(std::span<const Gradient> grads,
                                  std::span<const Tensor> given,
                                  std::span<const Tensor> outputs) const;
};

std::vector<Gradient> CompiledFunction::Derivative::pull_back(
    std::span<const Gradient> grads, std::span<const Tensor> given,
    std::span<const Tensor> outputs) const {
  std::vector<Tensor> arguments;
  for (size_t i : results) {
    if (!outputs[i].defined()) {
      arguments.emplace_back();
      continue;
    }
    arguments.push_back(grads[i].defined() ? grads[i].dense()
                                           : zero_gradient(outputs[i]));
  }
  for (const Saved& s : saved) {
    arguments.push_back(s.argument ? given[s.index] : outputs[s.index]);
  }
  const std::vector<Tensor> made = backward->call(arguments);
  std::vector<Gradient> gradients;
  size_t next = 0;
  for (GradientForm form : forms) {
    if (form == GradientForm::kNone) {
      gradients.emplace_back();
    } else if (form == GradientForm::kDense) {
      gradients.emplace_back(made[next++]);
    } else {
      gradients.emplace_back(IndexedSlices{made[next], made[next + 1], made[next + 2]});
      next += 3;
    }
  }
  return gradients;
}

namespace {

// A function and its gradients share memory.
GraphFunctionOptions with_pool(GraphFunctionOptions options) {
  if (!options.pool) options.pool = std::make_shared<ArenaPool>();
  return options;
}

}  // namespace

CompiledFunction::CompiledFunction(GraphPtr graph, GraphFunctionOptions options)
    : options_(with_pool(std::move(options))), function_(std::move(graph), options_) {}

std::vector<Tensor> CompiledFunction::call(std::span<const Tensor> arguments) {
  return recording() ? call_recorded(arguments) : function_.run(arguments);
}

void CompiledFunction::call(std::span<const Tensor> arguments,
                            std::span<Tensor> results) {
  if (recording()) {
    move_results(call_recorded(arguments), results, function_.graph().name());
  } else {
    function_.run(arguments, results);
  }
}

std::string CompiledFunction::explain() {
  std::string text = function_.explain();
  const std::lock_guard lock(mutex_);
  for (const auto& d : derivatives_) {
    text += fmt::format("on a tape, for gradients of {} sources:\n{}", d->wanted.size(),
                        d->forward->explain());
    const std::string backward = d->backward->explain();
    if (!backward.empty()) text += "its gradient:\n" + backward;
  }
  return text;
}

// Values that the caller has anyway, as arguments or results, are saved as those: on a
// tape, gradients of the gradient then go straight to them.
void CompiledFunction::save(Derivative& d, Graph& forward) {
  const std::vector<ValueRef> all = std::exchange(forward.results(), {});
  std::vector<ValueRef>& kept = forward.results();
  const std::vector<int32_t>& parameters = forward.parameters();
  kept.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(d.own_results));
  for (size_t i = d.own_results; i < all.size(); ++i) {
    const auto p = std::find(parameters.begin(), parameters.end(), all[i].node);
    if (p != parameters.end()) {
      d.saved.push_back({true, static_cast<size_t>(p - parameters.begin())});
      continue;
    }
    const auto at =
        static_cast<size_t>(std::find(kept.begin(), kept.end(), all[i]) - kept.begin());
    if (at == kept.size()) kept.push_back(all[i]);
    d.saved.push_back({false, at});
  }
}

std::shared_ptr<CompiledFunction::Derivative> CompiledFunction::derivative(
    const std::vector<ValueRef>& wanted) {
  const std::lock_guard lock(mutex_);
  for (const auto& d : derivatives_) {
    if (d->wanted == wanted) return d;
  }
  const Graph& graph = function_.graph();
  auto d = std::make_shared<Derivative>();
  d->wanted = wanted;
  d->results = differentiable_results(graph);
  d->own_results = graph.results().size();
  Differentiated made = differentiate(graph, wanted, d->results);
  d->forms = std::move(made.forms);
  d->wanted_of_forward = std::move(made.wanted);
  save(*d, made.forward);
  d->forward = std::make_shared<CompiledFunction>(
      std::make_shared<const Graph>(std::move(made.forward)), options_);
  d->backward = std::make_shared<CompiledFunction>(
      std::make_shared<const Graph>(std::move(made.backward)), options_);
  derivatives_.push_back(d);
  return d;
}

namespace {

// Running it again gives the same and does nothing else.
bool is_repeatable(const Graph& graph) {
  return std::none_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& n) {
    return n.kind == Node::Kind::kVariable || is_ordered(n);
  });
}

}  // namespace

// By the lowest order that knows all results that gradients come in by.
std::vector<Gradient> CompiledFunction::pull_back(const Orders& orders,
                                                  std::span<const Gradient> grads,
                                                  std::span<const Tensor> given,
                                                  std::span<const Tensor> outputs) {
  size_t needed = grads.size();
  while (needed > 0 && !grads[needed - 1].defined()) --needed;
  for (const auto& d : orders) {
    if (needed <= d->own_results) return d->pull_back(grads, given, outputs);
  }
  const std::shared_ptr<Derivative> next = orders.back()->next_order();
  if (!next->saves_more()) return next->pull_back(grads, given, outputs);
  GraphFunction& wider = next->forward->function_;
  if (!is_repeatable(wider.graph())) {
    throw UnimplementedError(fmt::format(
        "{}: a derivative of order {} was asked for, but what it reads was saved up to "
        "order {} when the function ran, and a function with variables or effects is not "
        "run again. Nest one GradientTape per order around the call.",
        wider.graph().name(), orders.size() + 1, orders.size()));
  }
  return next->pull_back(grads, given, wider.run(given));
}

std::vector<Tensor> CompiledFunction::call_recorded(std::span<const Tensor> arguments) {
  const Graph& graph = function_.graph();
  std::vector<Origin> sources;
  size_t number = 0;
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    Tensor tensor;
    if (n.kind == Node::Kind::kParameter) {
      tensor = arguments[number++];
    } else if (n.kind == Node::Kind::kVariable || n.kind == Node::Kind::kConstant) {
      tensor = n.constant;
    }
    if (tensor.defined() && has_gradient(n.outputs[0].dtype) && tapes_want(tensor)) {
      sources.push_back({{i, 0}, tensor});
    }
  }
  if (sources.empty() || differentiable_results(graph).empty()) {
    return function_.run(arguments);
  }
  std::vector<ValueRef> wanted;
  std::vector<TensorArg> inputs;
  for (const Origin& s : sources) {
    wanted.push_back(s.value);
    inputs.emplace_back(s.tensor);
  }
  // As many orders as may be asked for: what they read is of this run, which never comes
  // again.
  Orders orders = {derivative(wanted)};
  const auto most = static_cast<size_t>(gradient_order(inputs));
  while (orders.size() < most && orders.back()->saves_more()) {
    orders.push_back(orders.back()->next_order());
  }
  std::vector<Tensor> outputs = orders.back()->forward->function_.run(arguments);
  // An output that is handed through has an identity of its own on the tape.
  for (Tensor& t : outputs) {
    const TensorImpl* impl = t.impl();
    if (impl && impl->buffer && t.header().use_count() > 1) {
      t = make_tensor(impl->dtype, impl->shape, *impl->device, impl->buffer,
                      impl->byte_offset);
    }
  }
  // What is saved is an output too: gradients of gradients come in by it. What a branch
  // did not make is none.
  std::vector<Tensor> made;
  std::vector<size_t> positions;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) continue;
    made.push_back(outputs[i]);
    positions.push_back(i);
  }
  record_custom(inputs, made,
                [orders, outputs, positions,
                 given = std::vector<Tensor>(arguments.begin(), arguments.end())](
                    std::span<const Gradient> some) {
                  std::vector<Gradient> grads(outputs.size());
                  for (size_t k = 0; k < positions.size(); ++k)
                    grads[positions[k]] = some[k];
                  return pull_back(orders, grads, given, outputs);
                });
  outputs.resize(graph.results().size());
  return outputs;
}

}  // namespace tandem
