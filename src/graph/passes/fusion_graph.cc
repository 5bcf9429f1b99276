#include "graph/passes/fusion_graph.h"

#include <algorithm>

namespace tandem {

namespace {

using Role = FusionGraph::Role;

Role role_of(const Graph& graph, const Node& n) {
  if (n.kind != Node::Kind::kOp || n.outputs.size() != 1 || !n.after.empty() ||
      !n.outputs[0].shape.is_known()) {
    return Role::kNode;
  }
  const std::string& op = n.op->name;
  // On another device an Identity is a copy that somebody asked for.
  if (op == "Identity" && !n.device.empty() &&
      n.device != graph.node(n.inputs[0].node).device) {
    return Role::kNode;
  }
  Role role = Role::kNode;
  if (op == "Reshape" || op == "ReshapeLike" || op == "ExpandDims" || op == "Squeeze" ||
      op == "Identity" || op == "StopGradient") {
    role = Role::kView;
  } else if (op == "BroadcastTo" || op == "BroadcastLike") {
    role = Role::kBroadcast;
  } else if (op == "Fill") {
    role = Role::kFill;
  }
  if (role == Role::kNode) return role;
  const ValueRef data = n.inputs[role == Role::kFill ? 1 : 0];
  if (!data.defined() || graph.info(data).state || !graph.info(data).shape.is_known()) {
    return Role::kNode;
  }
  // A broadcast that adds nothing is a view.
  if (role == Role::kBroadcast &&
      graph.info(data).shape.num_elements() == n.outputs[0].shape.num_elements()) {
    return Role::kView;
  }
  return role;
}

}  // namespace

FusionGraph::FusionGraph(const Graph& graph) : graph_(graph) {
  find_roles();
  find_users();
  find_order();
}

void FusionGraph::find_roles() {
  int32_t values = 0;
  for (const Node& n : graph_.nodes()) {
    roles_.push_back(role_of(graph_, n));
    first_.push_back(values);
    values += static_cast<int32_t>(n.outputs.size());
  }
  returned_.assign(static_cast<size_t>(values), false);
  user_begin_.assign(static_cast<size_t>(values) + 1, 0);
}

void FusionGraph::find_users() {
  for (const Node& n : graph_.nodes()) {
    for (ValueRef v : n.inputs) {
      if (v.defined()) ++user_begin_[index(v) + 1];
    }
  }
  for (size_t i = 1; i < user_begin_.size(); ++i) user_begin_[i] += user_begin_[i - 1];
  user_.resize(static_cast<size_t>(user_begin_.back()));
  std::vector<int32_t> next(user_begin_.begin(), user_begin_.end() - 1);
  for (int32_t i = 0; i < graph_.size(); ++i) {
    for (ValueRef v : graph_.node(i).inputs) {
      if (v.defined()) user_[static_cast<size_t>(next[index(v)]++)] = i;
    }
  }
  for (ValueRef v : graph_.results()) {
    if (v.defined()) returned_[index(v)] = true;
  }
  for (ValueRef v : graph_.final_states()) {
    if (v.defined()) returned_[index(v)] = true;
  }
}

void FusionGraph::add_edge(int32_t from, int32_t to) {
  std::vector<int32_t>& list = before_[static_cast<size_t>(to)];
  // Long lists (AddN of hundreds) may name a node twice; that costs less than looking.
  if (list.size() <= 16 && std::find(list.begin(), list.end(), from) != list.end()) {
    return;
  }
  list.push_back(from);
  after_[static_cast<size_t>(from)].push_back(to);
}

void FusionGraph::find_order() {
  before_.resize(graph_.nodes().size());
  after_.resize(graph_.nodes().size());
  for (int32_t i = 0; i < graph_.size(); ++i) {
    if (is_free(i)) continue;
    const Node& n = graph_.node(i);
    for (ValueRef v : n.inputs) {
      if (v.defined()) add_edge(source(v).node, i);
    }
    for (int32_t earlier : n.after) add_edge(earlier, i);
  }
  // Readers of a state, and those who look at what was read, come before the next state
  // is made wherever they did so in the program.
  for (int32_t i = 0; i < graph_.size(); ++i) {
    const Node& n = graph_.node(i);
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      if (!n.outputs[static_cast<size_t>(o)].state) continue;
      for (int32_t reader : users({i, o})) {
        const Node& r = graph_.node(reader);
        if (!r.is_op("ReadVariableOp")) continue;
        for (int32_t writer : users({i, o})) {
          if (writer <= reader || graph_.node(writer).is_op("ReadVariableOp")) continue;
          add_edge(reader, writer);
          for (int32_t user : users({reader, 0})) {
            if (user < writer && !is_free(user)) add_edge(user, writer);
          }
        }
      }
    }
  }
}

ValueRef FusionGraph::free_input(int32_t node) const {
  return graph_.node(node).inputs[role(node) == Role::kFill ? 1 : 0];
}

ValueRef FusionGraph::through_views(ValueRef v) const {
  while (role(v.node) == Role::kView) v = free_input(v.node);
  return v;
}

ValueRef FusionGraph::source(ValueRef v) const {
  while (is_free(v.node)) v = free_input(v.node);
  return v;
}

std::span<const int32_t> FusionGraph::users(ValueRef v) const {
  const auto begin = static_cast<size_t>(user_begin_[index(v)]);
  const auto end = static_cast<size_t>(user_begin_[index(v) + 1]);
  return {user_.data() + begin, end - begin};
}

}  // namespace tandem
