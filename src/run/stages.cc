#include "run/stages.h"

#include <algorithm>
#include <map>

#include "graph/states.h"
#include "op/host_function.h"

namespace tandem {

namespace {

bool plannable(const ValueInfo& info) {
  return info.dtype != DType::kString &&
         (info.dtype == DType::kVariant || info.shape.is_known());
}

bool can_plan_all(const Graph& graph) {
  return std::all_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const Node& n) { return can_plan(graph, n); });
}

}  // namespace

bool can_plan(const Graph& graph, const Node& node) {
  if (node.kind == Node::Kind::kConstant) return true;
  for (const ValueInfo& o : node.outputs) {
    if (!plannable(o)) return false;
  }
  if (node.has_subgraphs()) {
    // A list that is empty or not cannot be told from its type: loops and branches with
    // lists are planned like any other.
    return std::all_of(node.subgraphs.begin(), node.subgraphs.end(),
                       [](const GraphPtr& g) { return can_plan_all(*g); });
  }
  if (node.kind != Node::Kind::kOp) return true;
  // In place there is room for a value of the variable's present shape only.
  if (node.is_op("AssignVariableOp") &&
      !(graph.info(node.inputs[0]).shape == graph.info(node.inputs[1]).shape)) {
    return false;
  }
  const bool host = host_function(*node.op) != nullptr;
  if (node.op->dynamic && !host) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueRef v = node.inputs[i];
    if (!v.defined()) continue;
    if (host && graph.node(v.node).kind == Node::Kind::kConstant) continue;
    if (!plannable(graph.info(v))) return false;
    if (!host && node.op->input_def(static_cast<int>(i)).host &&
        graph.node(v.node).kind != Node::Kind::kConstant) {
      return false;
    }
  }
  return true;
}

namespace {

enum class Part : uint8_t { kPlanned, kBoundary, kRest };

class Cutter {
 public:
  explicit Cutter(const Graph& graph) : g_(graph), parts_(graph.nodes().size()) {}

  Stages run() {
    classify();
    stages_.planned = Graph(g_.name());
    stages_.boundary = Graph(g_.name() + "/sizes");
    stages_.rest = Graph(g_.name() + "/rest");
    for (int32_t i = 0; i < g_.size(); ++i) place(i);
    if (stages_.whole) {
      for (ValueRef v : g_.results()) stages_.planned.results().push_back(in_planned(v));
      for (ValueRef v : g_.final_states()) {
        stages_.planned.final_states().push_back(in_planned(v));
      }
      return std::move(stages_);
    }
    for (ValueRef v : g_.results()) stages_.rest.results().push_back(in_rest(v));
    finish_states(stages_.planned, Part::kPlanned);
    finish_states(stages_.boundary, Part::kBoundary);
    finish_states(stages_.rest, Part::kRest);
    return std::move(stages_);
  }

 private:
  static size_t idx(int32_t i) { return static_cast<size_t>(i); }
  static bool leaf(const Node& n) {
    return n.kind == Node::Kind::kParameter || n.kind == Node::Kind::kConstant ||
           n.kind == Node::Kind::kVariable;
  }

  void classify() {
    sort_into_parts(false);
    if (decides_sizes()) {
      // Writes wait for the last part, so that a failure of an earlier one changes
      // nothing; unless sizes themselves depend on what is written.
      const std::vector<Part> in_order = parts_;
      sort_into_parts(true);
      if (!decides_sizes()) parts_ = in_order;
    }
    stages_.whole = std::all_of(parts_.begin(), parts_.end(),
                                [](Part p) { return p == Part::kPlanned; });
  }
  static bool writes(const Node& n) {
    return std::any_of(n.outputs.begin(), n.outputs.end(),
                       [](const ValueInfo& o) { return o.state; });
  }
  bool decides_sizes() const {
    for (int32_t i = 0; i < g_.size(); ++i) {
      if (parts_[idx(i)] == Part::kBoundary && !writes(g_.node(i))) return true;
    }
    return false;
  }

  // Once something waits for sizes, everything that writes or has an order waits too, so
  // that the program's order stays.
  void sort_into_parts(bool writes_wait) {
    bool waiting = false;
    for (int32_t i = 0; i < g_.size(); ++i) {
      const Node& n = g_.node(i);
      Part part = Part::kPlanned;
      if (!leaf(n)) {
        for (ValueRef v : n.inputs) {
          if (v.defined() && parts_[idx(v.node)] != Part::kPlanned) part = Part::kRest;
        }
        for (int32_t before : n.after) {
          if (parts_[idx(before)] != Part::kPlanned) part = Part::kRest;
        }
        const bool effects =
            (n.op && n.op->effects & (kWritesState | kOrdered)) || writes(n);
        if (part == Part::kPlanned && waiting && effects) part = Part::kRest;
        if (writes_wait && writes(n)) part = Part::kRest;
        if (part == Part::kPlanned && !can_plan(g_, n)) part = Part::kBoundary;
      } else if (!plannable(n.outputs[0]) && n.kind != Node::Kind::kConstant &&
                 !n.outputs[0].state) {
        part = Part::kPlanned;  // an argument; handed on as it is
      }
      waiting |= part != Part::kPlanned;
      parts_[idx(i)] = part;
    }
  }

  // ---- Values in the three graphs
  ValueRef in_planned(ValueRef v) {
    if (!v.defined()) return {};
    return planned_.at({v.node, v.output});
  }
  ValueRef input(Graph& to, std::vector<StageInput>& inputs, ValueRef v,
                 StageInput from) {
    const ValueInfo& info = g_.info(v);
    const ValueRef p = to.add_parameter(info.dtype, info.shape, g_.node(v.node).name);
    to.info(p).value = info.value;
    to.info(p).has_value = info.has_value;
    inputs.push_back(from);
    return p;
  }
  StageInput source(ValueRef v) {
    const Node& n = g_.node(v.node);
    if (n.kind == Node::Kind::kParameter) {
      int32_t number = 0;
      for (int32_t p : g_.parameters()) {
        if (p == v.node) break;
        if (!g_.node(p).outputs[0].state) ++number;
      }
      return {StageInput::From::kArgument, number};
    }
    if (parts_[idx(v.node)] == Part::kBoundary) {
      return {StageInput::From::kBoundary,
              result(stages_.boundary, boundary_.at({v.node, v.output}))};
    }
    return {StageInput::From::kPlanned, result(stages_.planned, in_planned(v))};
  }
  static int32_t result(Graph& g, ValueRef v) {
    auto& list = g.results();
    const auto found = std::find(list.begin(), list.end(), v);
    if (found != list.end()) return static_cast<int32_t>(found - list.begin());
    list.push_back(v);
    return static_cast<int32_t>(list.size()) - 1;
  }
  // A value in the boundary or the rest, whoever makes it.
  ValueRef later(ValueRef v, Part part) {
    if (!v.defined()) return {};
    auto& known = part == Part::kBoundary ? boundary_ : rest_;
    const auto found = known.find({v.node, v.output});
    if (found != known.end()) return found->second;
    Graph& to = part == Part::kBoundary ? stages_.boundary : stages_.rest;
    auto& inputs =
        part == Part::kBoundary ? stages_.boundary_inputs : stages_.rest_inputs;
    const Node& n = g_.node(v.node);
    ValueRef made;
    if (n.kind == Node::Kind::kConstant) {
      made = to.add_constant(n.constant, n.name);
    } else if (g_.info(v).state) {
      // Whatever the earlier parts made of the variable is in it by then.
      made = to.add_variable(variable_handle(g_, v));
    } else {
      made = input(to, inputs, v, source(v));
    }
    return known[{v.node, v.output}] = made;
  }
  ValueRef in_rest(ValueRef v) { return later(v, Part::kRest); }

  void place(int32_t i) {
    const Node& n = g_.node(i);
    const Part part = parts_[idx(i)];
    if (part == Part::kPlanned) {
      Node copy = n;
      for (ValueRef& v : copy.inputs) v = in_planned(v);
      for (int32_t& before : copy.after) before = order_[before];
      order_[i] = stages_.planned.add_node(std::move(copy));
      for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
        planned_[{i, o}] = {order_[i], o};
      }
      return;
    }
    Graph& to = part == Part::kBoundary ? stages_.boundary : stages_.rest;
    auto& known = part == Part::kBoundary ? boundary_ : rest_;
    Node copy = n;
    for (ValueRef& v : copy.inputs) v = later(v, part);
    copy.after.clear();
    for (int32_t before : n.after) {
      if (parts_[idx(before)] == part) copy.after.push_back(order_[before]);
    }
    order_[i] = to.add_node(std::move(copy));
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      known[{i, o}] = {order_[i], o};
    }
  }

  // The last state of each variable that a part writes.
  void finish_states(Graph& graph, Part part) {
    std::map<uint64_t, ValueRef> last;
    for (int32_t i = 0; i < g_.size(); ++i) {
      const Node& n = g_.node(i);
      if (parts_[idx(i)] != part || leaf(n)) continue;
      for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
        if (!n.outputs[idx(o)].state) continue;
        last[variable_handle(g_, {i, o}).impl()->id] = {order_[i], o};
      }
    }
    for (const auto& [id, v] : last) graph.final_states().push_back(v);
  }

  const Graph& g_;
  std::vector<Part> parts_;
  Stages stages_;
  std::map<std::pair<int32_t, int32_t>, ValueRef> planned_, boundary_, rest_;
  std::map<int32_t, int32_t> order_;  // node → node of its part
};

}  // namespace

Stages cut_stages(const Graph& graph) { return Cutter(graph).run(); }

}  // namespace tandem
