// Gradients of kWhile.
#include <algorithm>

#include <fmt/format.h>

#include "device/runtime.h"
#include "graph/autodiff.h"
#include "graph/autodiff_control_flow.h"
#include "graph/rewriter.h"
#include "graph/states.h"
#include "op/call_gradient.h"
#include "op/emitter.h"
#include "ops/tensor_list.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

constexpr const char* kTurns = "turns";  // the parameter that counts

Tensor host_int64(int64_t value) {
  return make_host_copy(Runtime::get().cpu(), DType::kInt64, Shape{}, &value);
}

std::vector<ValueRef> parameters_where(const Graph& graph, const std::vector<bool>& set) {
  std::vector<ValueRef> refs;
  for (size_t j = 0; j < set.size(); ++j) {
    if (set[j]) refs.push_back({graph.parameters()[j], 0});
  }
  return refs;
}

// Which operands gradients flow through: `carried` ones from turn to turn, `summed` ones
// (invariants, variables) get a share from each turn.
struct GradientFlow {
  std::vector<bool> carried;
  std::vector<bool> summed;
};

GradientFlow find_flow(const NodeQuestion& q, const Node& node) {
  const Graph& body = *node.subgraphs[1];
  const auto carried = static_cast<size_t>(node.carried);
  const auto is_state = [&](size_t j) {
    return body.info({body.parameters()[j], 0}).state;
  };
  std::vector<bool> active(q.needs.begin(), q.needs.end());
  // What a wanted value has flowed into in one turn, it flows on from in the next.
  for (bool changed = true; changed;) {
    changed = false;
    const Activity activity(body, parameters_where(body, active));
    for (size_t i = 0; i < carried; ++i) {
      if (active[i] || is_state(i) || !activity.active(body.results()[i])) continue;
      active[i] = changed = true;
    }
  }
  const Activity activity(body, parameters_where(body, active));
  GradientFlow flow{std::vector<bool>(q.operands.size()),
                    std::vector<bool>(q.operands.size())};
  for (size_t i = 0; i < carried && i < q.output_grads.size(); ++i) {
    flow.carried[i] = active[i] && !is_state(i) && q.output_grads[i].defined();
  }
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<ValueRef> results;
    for (size_t i = 0; i < carried; ++i) {
      if (flow.carried[i]) results.push_back(body.results()[i]);
    }
    for (ValueRef v : activity.sources(results)) {
      for (size_t j = 0; j < flow.carried.size(); ++j) {
        const ValueRef parameter{body.parameters()[j], 0};
        const bool same =
            body.info(v).state && is_state(j)
                ? variable_handle(body, v).is(variable_handle(body, parameter))
                : v == parameter;
        if (!same || flow.carried[j] || flow.summed[j]) continue;
        if (j >= carried || is_state(j)) {
          flow.summed[j] = q.needs[j];
        } else {
          flow.carried[j] = changed = true;
        }
      }
    }
  }
  return flow;
}

// The forward loop with more to carry.
class ExtendedLoop {
 public:
  ExtendedLoop(Graph& body, int32_t carried) : body_(body), carried_(carried) {}

  /// The output that counts turns.
  int32_t counter() {
    for (int32_t r = 0; r < carried_; ++r) {
      if (body_.node(parameter(r)).name == kTurns) return r;
    }
    static const OpHandle add("AddV2");
    const ValueRef before = body_.add_parameter(DType::kInt64, Shape{}, kTurns);
    const ValueRef one = body_.add_constant(host_int64(1));
    return append(before, {body_.add_op(add, {}, {before, one}), 0});
  }
  /// The output that is a list of what `v` was in each turn.
  int32_t collect(ValueRef v) {
    for (size_t r = 0; r < body_.results().size(); ++r) {
      const Node& n = body_.node(body_.results()[r].node);
      if (n.is_op("TensorListPushBack") && n.inputs[1] == v &&
          n.inputs[0].node == parameter(static_cast<int32_t>(r))) {
        return static_cast<int32_t>(r);
      }
    }
    static const OpHandle push("TensorListPushBack");
    const ValueRef list = body_.add_parameter(DType::kVariant, Shape{}, "collected");
    return append(list, {body_.add_op(push, {}, {list, v}), 0});
  }

  /// Makes the node what `body` has become.
  void apply(Graph& graph, int32_t index) const {
    if (added_.empty()) {
      // Shapes may have been added that the gradient reads.
      graph.node(index).subgraphs[1] = std::make_shared<const Graph>(body_);
      return;
    }
    const LoopSeeds seeds = find_loop_seeds(graph, index);
    if (!seeds.zero.defined()) {
      throw InternalError(
          fmt::format("{}: nothing to begin lists with", graph.node(index).name));
    }
    Node& node = graph.node(index);
    const Graph& test = *node.subgraphs[0];
    std::vector<Operand> body_operands, test_operands;
    std::vector<ValueRef> inputs;
    const auto keep = [&](size_t j) {
      body_operands.push_back({body_.parameters()[j], {}, {}});
      test_operands.push_back({test.parameters()[j], {}, {}});
      inputs.push_back(node.inputs[j]);
    };
    const auto carried = static_cast<size_t>(carried_);
    for (size_t j = 0; j < carried; ++j) keep(j);
    for (int32_t p : added_) {
      const ValueInfo& info = body_.info({p, 0});
      body_operands.push_back({p, {}, {}});
      test_operands.push_back({-1, info, {}});
      inputs.push_back(info.dtype == DType::kVariant ? seeds.empty_list : seeds.zero);
      node.outputs.push_back(info);
    }
    for (size_t j = carried; j < node.inputs.size(); ++j) keep(j);
    node.inputs = std::move(inputs);
    node.carried += static_cast<int32_t>(added_.size());
    node.subgraphs = {std::make_shared<const Graph>(with_operands(test, test_operands)),
                      std::make_shared<const Graph>(with_operands(body_, body_operands))};
  }

 private:
  // Parameters of outputs: the loop's own first, then those that were added last.
  int32_t parameter(int32_t output) const {
    return output < carried_ ? body_.parameters()[static_cast<size_t>(output)]
                             : added_[static_cast<size_t>(output - carried_)];
  }
  int32_t append(ValueRef parameter, ValueRef result) {
    added_.push_back(parameter.node);
    body_.results().push_back(result);
    return carried_ + static_cast<int32_t>(added_.size()) - 1;
  }
  Graph& body_;
  int32_t carried_;
  std::vector<int32_t> added_;
};

// Gives the gradient's body lists as variables, and the values it captured of the forward
// body from their ends.
void pop_captures(Subgraph& back, const std::vector<Tracer::Capture>& popped) {
  static const OpHandle pop("TensorListPopBack");
  back.graph.results() = back.results;
  GraphRewriter rewriter(back.graph);
  const auto is_popped = [&](int32_t p) {
    return std::any_of(popped.begin(), popped.end(),
                       [p](const Tracer::Capture& c) { return c.parameter == p; });
  };
  std::vector<bool> done(back.graph.nodes().size(), false);
  for (int32_t p : back.graph.parameters()) {
    done[static_cast<size_t>(p)] = true;
    if (!is_popped(p)) rewriter.copy(p);
  }
  for (int32_t& v : back.variables) v = rewriter.map({v, 0}).node;
  std::vector<ValueRef> rests;
  for (const Tracer::Capture& c : popped) {
    const ValueInfo info = back.graph.info({c.parameter, 0});
    const ValueRef list =
        rewriter.to().add_parameter(DType::kVariant, Shape{}, "collected");
    back.variables.push_back(list.node);
    const TensorListAttrs attrs{info.dtype, info.shape};
    const int32_t node = rewriter.to().add_op(pop, attrs_ref(attrs), {list, {}});
    rewriter.replace({c.parameter, 0}, {node, 1});
    rests.push_back({node, 0});
  }
  for (int32_t i = 0; i < back.graph.size(); ++i) {
    if (!done[static_cast<size_t>(i)]) rewriter.copy(i);
  }
  for (Tracer::Capture& c : back.captures) {
    c.parameter = rewriter.map({c.parameter, 0}).node;
  }
  back.results = rewriter.map(back.results);
  back.results.insert(back.results.end(), rests.begin(), rests.end());
  back.graph = rewriter.finish();
}

}  // namespace

NodeGradient loop_gradient(const NodeQuestion& q) {
  Tracer& here = *current_tracer();
  const Node node = q.owner.graph().node(q.node);
  NodeGradient made;
  made.operands.resize(q.operands.size());
  const GradientFlow flow = find_flow(q, node);
  std::vector<size_t> carried, summed;
  for (size_t j = 0; j < q.operands.size(); ++j) {
    if (flow.carried[j]) carried.push_back(j);
    if (flow.summed[j]) summed.push_back(j);
  }
  if (carried.empty()) return made;

  // One turn back.
  std::vector<ValueRef> wanted;
  for (const auto* list : {&carried, &summed}) {
    for (size_t j : *list) wanted.push_back({node.subgraphs[1]->parameters()[j], 0});
  }
  Graph body = with_loop_seeds(*node.subgraphs[1], wanted);
  Tracer forward(body, nullptr, &here);
  Subgraph back("turn_back", forward, nullptr);
  back.tracer.keep_shapes_only();
  {
    const EmitterScope scope(&back.tracer);
    const Tensor left = back.tracer.parameter(DType::kInt64, Shape{}, "left");
    std::vector<Tensor> given;
    for (ValueRef v : wanted) {
      const ValueInfo& info = body.info(v);
      given.push_back(back.tracer.parameter(info.dtype, info.shape, "grad"));
    }
    back.variables = back.graph.parameters();
    std::vector<Seed> seeds;
    for (size_t k = 0; k < carried.size(); ++k) {
      seeds.emplace_back(body.results()[carried[k]], Gradient(given[k]));
    }
    const std::vector<Gradient> grads = backpropagate(forward, seeds, wanted);
    back.results.push_back(back.tracer.value_of(left - host_int64(1)));
    for (size_t k = 0; k < wanted.size(); ++k) {
      Tensor g;
      if (k >= carried.size()) {
        g = grads[k].defined() ? add_gradients(given[k], grads[k].dense()).dense()
                               : given[k];
      } else {
        g = grads[k].defined() ? grads[k].dense()
                               : zero_gradient(tensor_of(forward, wanted[k]));
      }
      back.results.push_back(back.tracer.value_of(g));
    }
  }

  // What it captured of the forward turn is an operand of the loop, or changes from turn
  // to turn and is collected.
  back.close();
  ExtendedLoop loop(body, node.carried);
  const int32_t turns = loop.counter();
  std::vector<Tracer::Capture> popped, kept;
  std::vector<int32_t> lists;
  for (Tracer::Capture& c : back.captures) {
    if (c.tensor.dtype() == DType::kResource || !forward.owns(c.tensor)) {
      kept.push_back(c);
      continue;
    }
    const ValueRef v = forward.value_of(c.tensor);
    const auto& parameters = body.parameters();
    const auto p = static_cast<size_t>(
        std::find(parameters.begin(), parameters.end(), v.node) - parameters.begin());
    const bool invariant =
        p < q.operands.size() &&
        (p >= static_cast<size_t>(node.carried) || body.results()[p] == v);
    if (invariant) {
      kept.push_back({q.operands[p], c.parameter, false});
    } else {
      lists.push_back(loop.collect(v));
      popped.push_back(c);
    }
  }
  loop.apply(q.owner.graph(), q.node);
  back.captures = std::move(kept);
  pop_captures(back, popped);

  // The loop back: it turns as often as the forward loop did.
  std::vector<Tensor> variables = {q.output(turns)};
  for (size_t j : carried) {
    const bool given = j < q.output_grads.size() && q.output_grads[j].defined();
    variables.push_back(given ? q.output_grads[j].dense()
                              : zero_gradient(q.output(static_cast<int32_t>(j))));
  }
  for (size_t j : summed) variables.push_back(zero_gradient(q.operands[j]));
  for (int32_t o : lists) {
    variables.push_back(q.output(o));
    made.read_outputs.push_back(o);
  }
  Subgraph test("turns_left", here, nullptr);
  {
    const EmitterScope scope(&test.tracer);
    std::vector<Tensor> parameters;
    for (const Tensor& t : variables) {
      parameters.push_back(test.tracer.parameter(t.dtype(), t.shape(), "variable"));
    }
    test.variables = test.graph.parameters();
    test.results = {test.tracer.value_of(greater(parameters[0], host_int64(0)))};
  }
  made.backward = add_while(here, test, back, variables, -1, "gradient_of_" + node.name);
  for (size_t k = 0; k < carried.size(); ++k) {
    if (q.needs[carried[k]]) made.operands[carried[k]] = made.backward.results[1 + k];
  }
  for (size_t k = 0; k < summed.size(); ++k) {
    made.operands[summed[k]] = made.backward.results[1 + carried.size() + k];
  }
  return made;
}

}  // namespace tandem
