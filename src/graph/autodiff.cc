#include "graph/autodiff.h"

#include <algorithm>
#include <map>
#include <memory>

#include "graph/autodiff_control_flow.h"
#include "graph/dim_names.h"
#include "graph/location_scope.h"
#include "graph/rewriter.h"
#include "graph/states.h"
#include "graph/subgraph.h"
#include "op/call_gradient.h"
#include "tandem/ops.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

template <class List, class T>
bool contains(const List& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}
uint64_t handle_id(const Graph& graph, ValueRef state) {
  return variable_handle(graph, state).impl()->id;
}

// Gradients of values; states of one variable share the variable's.
class Accumulated {
 public:
  explicit Accumulated(const Graph& graph) : graph_(graph) {}
  void add(ValueRef v, const Gradient& g) {
    Gradient& slot = at(v);
    slot = add_gradients(slot, g);
  }
  Gradient get(ValueRef v) const {
    const auto found = values_.find(key(v));
    return found == values_.end() ? Gradient() : found->second;
  }

 private:
  using Key = std::pair<uint64_t, int32_t>;  // node and output, or handle and -1
  Key key(ValueRef v) const {
    if (graph_.info(v).state) return {handle_id(graph_, v), -1};
    return {static_cast<uint64_t>(v.node), v.output};
  }
  Gradient& at(ValueRef v) { return values_[key(v)]; }
  const Graph& graph_;
  std::map<Key, Gradient> values_;
};

}  // namespace

Activity::Activity(const Graph& graph, std::span<const ValueRef> wanted,
                   std::span<const ValueRef> stops)
    : graph_(graph) {
  for (const Node& n : graph.nodes()) values_.emplace_back(n.outputs.size(), false);
  for (ValueRef v : wanted) {
    if (graph.info(v).state) {
      handles_.push_back(handle_id(graph, v));
    } else if (trainable_dtype(graph.info(v).dtype)) {
      values_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)] = true;
    }
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    const Node& n = graph.node(static_cast<int32_t>(i));
    if (!node_active(n)) continue;
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      const ValueRef v{static_cast<int32_t>(i), static_cast<int32_t>(k)};
      if (!n.outputs[k].state && trainable_dtype(n.outputs[k].dtype) &&
          !contains(stops, v)) {
        values_[i][k] = true;
      }
    }
  }
}

bool Activity::node_active(const Node& node) const {
  if (node.op ? !node.op->differentiable : !node.has_subgraphs()) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [this](ValueRef v) { return v.defined() && active(v); });
}

bool Activity::active(ValueRef v) const {
  if (graph_.info(v).state) {
    return !handles_.empty() && contains(handles_, handle_id(graph_, v));
  }
  return values_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
}

std::vector<ValueRef> Activity::sources(std::span<const ValueRef> results) const {
  std::vector<bool> reached(values_.size(), false);
  std::vector<ValueRef> found;
  const auto reach = [&](ValueRef v) {
    if (!v.defined() || !active(v)) return;
    if (reached[static_cast<size_t>(v.node)] && !graph_.info(v).state) return;
    reached[static_cast<size_t>(v.node)] = true;
    const bool state = graph_.info(v).state;
    if (state || graph_.node(v.node).inputs.empty()) {
      if (std::find(found.begin(), found.end(), v) == found.end()) found.push_back(v);
    }
  };
  for (ValueRef v : results) reach(v);
  for (size_t i = values_.size(); i-- > 0;) {
    if (!reached[i]) continue;
    const Node& n = graph_.node(static_cast<int32_t>(i));
    if (!node_active(n)) continue;
    for (ValueRef v : n.inputs) reach(v);
  }
  return found;
}

Tensor tensor_of(Tracer& tracer, ValueRef v) {
  if (!v.defined()) return {};
  const Node& n = tracer.graph().node(v.node);
  if (n.outputs[static_cast<size_t>(v.output)].state)
    return variable_handle(tracer.graph(), v);
  return n.kind == Node::Kind::kConstant ? n.constant : tracer.symbolic(v);
}

Tensor zero_gradient(const Tensor& like) {
  if (like.dtype() == DType::kVariant) {
    static const OpHandle op("TensorListZerosLike");
    return emit(op, {like});
  }
  if (like.dtype() != DType::kResource) return zeros_like(like);
  const VariableImpl& v = variable_of(like);
  if (v.shape.is_known()) return zeros(v.shape, v.dtype);
  return zeros_like(Variable::from_handle(like).read());
}

std::vector<Gradient> backpropagate(Tracer& forward, std::span<const Seed> seeds,
                                    std::span<const ValueRef> wanted,
                                    std::span<const ValueRef> stops) {
  Graph& graph = forward.graph();
  const int32_t count = graph.size();
  const Activity activity(graph, wanted, stops);
  Accumulated grads(graph);
  for (const auto& [value, gradient] : seeds) {
    if (activity.active(value)) grads.add(value, gradient);
  }
  for (int32_t i = count; i-- > 0;) {
    // A copy: the graph may grow while gradients are emitted.
    const Node node = graph.node(i);
    if (node.op ? !node.op->differentiable : !node.has_subgraphs()) continue;
    std::vector<Gradient> output_grads;
    std::vector<Tensor> outputs, inputs;
    bool any = false;
    for (int32_t k = 0; k < static_cast<int32_t>(node.outputs.size()); ++k) {
      if (node.outputs[static_cast<size_t>(k)].state) {
        if (!node.op) output_grads.emplace_back();
        continue;
      }
      const bool goes_on = activity.active({i, k}) && !contains(stops, ValueRef{i, k});
      output_grads.push_back(goes_on ? grads.get({i, k}) : Gradient());
      any |= output_grads.back().defined();
      if (node.op) outputs.push_back(tensor_of(forward, {i, k}));
    }
    if (!any) continue;
    auto needs = std::make_unique<bool[]>(node.inputs.size());
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      inputs.push_back(tensor_of(forward, node.inputs[k]));
      needs[k] = node.inputs[k].defined() && activity.active(node.inputs[k]);
    }
    const std::span<const bool> needed(needs.get(), node.inputs.size());
    const LocationScope line(node.location);
    const std::vector<Gradient> results =
        node.op
            ? call_gradient(*node.op, node.attrs.ref(), inputs, outputs, output_grads,
                            needed)
            : control_flow_gradient({forward, i, inputs, outputs, output_grads, needed})
                  .operands;
    for (size_t k = 0; k < results.size(); ++k) {
      if (needs[k] && results[k].defined()) grads.add(node.inputs[k], results[k]);
    }
  }
  std::vector<Gradient> result;
  for (ValueRef v : wanted) result.push_back(grads.get(v));
  return result;
}

Differentiated differentiate(const Graph& original, std::span<const ValueRef> wanted,
                             std::span<const size_t> results) {
  std::vector<ValueRef> mapped(wanted.begin(), wanted.end());
  Differentiated made{
      with_loop_seeds(original, mapped), Graph(original.name() + "_grad"), {}, 0, {}};
  Tracer forward(made.forward, nullptr);
  Tracer backward(made.backward, nullptr, &forward);
  backward.keep_shapes_only();
  std::vector<ValueRef>& returned = made.backward.results();
  {
    const EmitterScope scope(&backward);
    std::vector<Seed> seeds;
    for (size_t r : results) {
      const ValueRef v = made.forward.results()[r];
      const ValueInfo& info = made.forward.info(v);
      const Tensor grad = backward.parameter(info.dtype, info.shape, "grad");
      made.backward.info(backward.value_of(grad)).dims = info.dims;
      seeds.emplace_back(v, Gradient(grad));
    }
    for (const Gradient& g : backpropagate(forward, seeds, mapped)) {
      if (!g.defined()) {
        made.forms.push_back(GradientForm::kNone);
      } else if (g.is_slices()) {
        made.forms.push_back(GradientForm::kSlices);
        for (const Tensor& t :
             {g.slices().values, g.slices().indices, g.slices().dense_shape}) {
          returned.push_back(backward.value_of(t));
        }
      } else {
        made.forms.push_back(GradientForm::kDense);
        returned.push_back(backward.value_of(g.dense()));
      }
    }
  }
  for (const Tracer::Capture& c : backward.captures()) {
    if (c.tensor.dtype() == DType::kResource) continue;  // a variable that is read again
    made.forward.results().push_back(forward.value_of(c.tensor));
    ++made.saved;
  }
  made.backward = name_dimensions(made.backward);
  made.wanted = std::move(mapped);
  return made;
}

}  // namespace tandem
