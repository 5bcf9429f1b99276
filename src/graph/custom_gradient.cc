#include "graph/custom_gradient.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/autodiff_control_flow.h"
#include "graph/handle.h"
#include "graph/states.h"
#include "graph/subgraph.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

ValueRef ref_of(Tracer& tracer, const Tensor& t) {
  return is_handle(t) ? tracer.state_of(t) : tracer.value_of(t);
}

// The user's gradient, traced as if nested in the function: what it uses of it becomes
// its captures.
std::vector<GradientForm> trace_backward(Subgraph& back, size_t inputs,
                                         const std::vector<Gradient>& output_grads,
                                         const Tracer::CustomBackward& backward) {
  const EmitterScope scope(&back.tracer);
  const std::vector<Gradient> made = backward(output_grads);
  if (made.size() != inputs) {
    throw ValueError(
        fmt::format("custom_gradient: the gradient function returned {} gradients for {} "
                    "inputs. Return one for each.",
                    made.size(), inputs));
  }
  std::vector<GradientForm> forms;
  for (const Gradient& g : made) {
    if (!g.defined()) {
      forms.push_back(GradientForm::kNone);
    } else if (g.is_slices()) {
      forms.push_back(GradientForm::kSlices);
      for (const Tensor& t :
           {g.slices().values, g.slices().indices, g.slices().dense_shape}) {
        back.results.push_back(back.tracer.value_of(t));
      }
    } else {
      forms.push_back(GradientForm::kDense);
      back.results.push_back(back.tracer.value_of(g.dense()));
    }
  }
  return forms;
}

}  // namespace

size_t gradient_results(const CustomGradient& gradient) {
  size_t count = 0;
  for (GradientForm form : gradient.forms) {
    count += form == GradientForm::kDense ? 1 : form == GradientForm::kSlices ? 3 : 0;
  }
  return count;
}

std::vector<Tensor> Tracer::with_gradient(std::span<const Tensor> inputs,
                                          std::span<const Tensor> outputs,
                                          const CustomBackward& backward) {
  std::vector<Tensor> operands(inputs.begin(), inputs.end());
  operands.insert(operands.end(), outputs.begin(), outputs.end());
  std::vector<ValueRef> refs;
  for (const Tensor& t : operands) refs.push_back(ref_of(*this, t));

  auto gradient = std::make_shared<CustomGradient>();
  Subgraph back("custom_gradient", *this, listener_);
  std::vector<Operand> parameters;
  std::vector<Gradient> output_grads;
  for (const Tensor& t : outputs) {
    const Tensor g = back.tracer.parameter(t.dtype(), t.shape(), "grad");
    parameters.push_back({back.tracer.value_of(g).node, {}, {}});
    output_grads.emplace_back(g);
  }
  try {
    gradient->forms = trace_backward(back, inputs.size(), output_grads, backward);
    back.graph.results() = back.results;
    for (const Capture& c : back.tracer.captures()) {
      if (c.written) back.graph.results().push_back(back.tracer.state_of(c.tensor));
    }
  } catch (const std::exception& e) {
    gradient->failure = e.what();
  }
  if (gradient->failure.empty()) {
    std::vector<int32_t> parameter_of(refs.size(), -1);
    for (const Capture& c : back.tracer.captures()) {
      const ValueRef ref = ref_of(*this, c.tensor);
      const auto found = std::find(refs.begin(), refs.end(), ref);
      const auto at = static_cast<size_t>(found - refs.begin());
      if (found == refs.end()) {
        refs.push_back(ref);
        operands.push_back(c.tensor);
        parameter_of.push_back(-1);
      }
      parameter_of[at] = c.parameter;
    }
    for (size_t i = 0; i < refs.size(); ++i) {
      Operand o{parameter_of[i], graph_.info(refs[i]), {}};
      if (is_handle(operands[i])) o.handle = operands[i];
      o.info.data = nullptr;
      parameters.push_back(std::move(o));
    }
    gradient->graph =
        std::make_shared<const Graph>(with_operands(back.graph, parameters));
  }

  Graph body("custom_gradient_body");
  Node node;
  node.kind = Node::Kind::kCall;
  node.name = "custom_gradient";
  for (size_t i = 0; i < refs.size(); ++i) {
    ValueRef p;
    if (is_handle(operands[i])) {
      p = body.add_state_parameter(operands[i]);
    } else {
      p = body.add_parameter(operands[i].dtype(), operands[i].shape(), "operand");
      body.info(p) = graph_.info(refs[i]);
      body.info(p).data = nullptr;
    }
    if (i < inputs.size() || i >= inputs.size() + outputs.size()) continue;
    body.results().push_back(p);
    node.outputs.push_back(body.info(p));
  }
  node.inputs = std::move(refs);
  node.subgraphs = {std::make_shared<const Graph>(std::move(body))};
  node.gradient = std::move(gradient);
  const int32_t index = add_control_flow(std::move(node));
  std::vector<Tensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(symbolic({index, static_cast<int32_t>(i)}));
  }
  return results;
}

NodeGradient custom_call_gradient(const NodeQuestion& q) {
  Tracer& here = *current_tracer();
  const Node node = q.owner.graph().node(q.node);
  const CustomGradient& custom = *node.gradient;
  NodeGradient made;
  made.operands.resize(q.operands.size());
  if (!custom.graph) {
    throw InvalidArgumentError(
        fmt::format("custom_gradient: the gradient function of {} failed when it was "
                    "traced: {}",
                    node.name, custom.failure));
  }
  Node call;
  call.kind = Node::Kind::kCall;
  call.name = "gradient_of_" + node.name;
  call.subgraphs = {custom.graph};
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const bool given = o < q.output_grads.size() && q.output_grads[o].defined();
    const Tensor out = given ? Tensor() : q.output(static_cast<int32_t>(o));
    made.backward.operands.push_back(given ? q.output_grads[o].dense()
                                           : zero_gradient(out));
    call.inputs.push_back(here.value_of(made.backward.operands.back()));
  }
  for (const Tensor& t : q.operands) {
    made.backward.operands.push_back(t);
    call.inputs.push_back(ref_of(here, t));
  }
  for (ValueRef v : custom.graph->results()) {
    ValueInfo info = custom.graph->info(v);
    info.data = nullptr;
    call.outputs.push_back(std::move(info));
  }
  made.backward.node = here.add_control_flow(std::move(call));
  const size_t plain = gradient_results(custom);
  const auto output = [&](size_t k) {
    return ValueRef{made.backward.node, static_cast<int32_t>(k)};
  };
  for (size_t k = 0; k < plain; ++k) {
    made.backward.results.push_back(here.symbolic(output(k)));
  }
  for (size_t k = plain; k < custom.graph->results().size(); ++k) {
    here.set_state(variable_handle(here.graph(), output(k)), output(k));
  }
  size_t next = 0;
  const auto take = [&] { return made.backward.results[next++]; };
  for (size_t i = 0; i < custom.forms.size(); ++i) {
    if (custom.forms[i] == GradientForm::kDense) {
      made.operands[i] = Gradient(take());
    } else if (custom.forms[i] == GradientForm::kSlices) {
      const Tensor values = take(), indices = take(), dense_shape = take();
      made.operands[i] = Gradient(IndexedSlices{values, indices, dense_shape});
    }
  }
  return made;
}

}  // namespace tandem
