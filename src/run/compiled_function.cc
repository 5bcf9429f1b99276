#include "run/compiled_function.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/autodiff.h"
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

// The function with its gradient for one choice of sources: two compiled functions.
struct CompiledFunction::Derivative {
  std::vector<ValueRef> wanted;
  std::vector<size_t> results;  // that are differentiated
  size_t own_results = 0;       // of the function itself; what is saved comes after
  std::shared_ptr<CompiledFunction> forward;
  std::shared_ptr<CompiledFunction> backward;
  std::vector<GradientForm> forms;

  std::vector<Gradient> pull_back(std::span<const Gradient> grads,
                                  std::span<const Tensor> outputs) const;
};

// `outputs`: the results, then what was saved.
std::vector<Gradient> CompiledFunction::Derivative::pull_back(
    std::span<const Gradient> grads, std::span<const Tensor> outputs) const {
  std::vector<Tensor> arguments;
  for (size_t i : results) {
    if (!outputs[i].defined()) {
      arguments.emplace_back();
      continue;
    }
    arguments.push_back(grads[i].defined() ? grads[i].dense()
                                           : zero_gradient(outputs[i]));
  }
  for (size_t i = own_results; i < outputs.size(); ++i) arguments.push_back(outputs[i]);
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
  d->forward = std::make_shared<CompiledFunction>(
      std::make_shared<const Graph>(std::move(made.forward)), options_);
  d->backward = std::make_shared<CompiledFunction>(
      std::make_shared<const Graph>(std::move(made.backward)), options_);
  derivatives_.push_back(d);
  return d;
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
  const std::shared_ptr<Derivative> d = derivative(wanted);
  std::vector<Tensor> outputs = d->forward->function_.run(arguments);
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
                [d, outputs, positions,
                 given = std::vector<Tensor>(arguments.begin(), arguments.end())](
                    std::span<const Gradient> some) {
                  std::vector<Gradient> grads(outputs.size());
                  for (size_t k = 0; k < positions.size(); ++k)
                    grads[positions[k]] = some[k];
                  bool second = false;
                  for (size_t i = d->own_results; i < grads.size(); ++i)
                    second |= grads[i].defined();
                  if (!second) return d->pull_back(grads, outputs);
                  const std::shared_ptr<Derivative> wider =
                      d->forward->derivative(d->wanted);
                  return wider->pull_back(grads, wider->forward->function_.run(given));
                });
  outputs.resize(d->own_results);
  return outputs;
}

}  // namespace tandem
