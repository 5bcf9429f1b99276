#include "graph/rewriter.h"

#include <algorithm>

#include <fmt/format.h>

#include "tandem/error.h"

namespace tandem {

GraphRewriter::GraphRewriter(const Graph& from)
    : from_(from), to_(from.name()), order_(from.nodes().size()) {
  values_.reserve(from.nodes().size());
  for (const Node& n : from.nodes()) values_.emplace_back(n.outputs.size());
}

bool GraphRewriter::mapped(ValueRef old) const {
  return values_[static_cast<size_t>(old.node)][static_cast<size_t>(old.output)]
      .defined();
}

ValueRef GraphRewriter::map(ValueRef old) const {
  if (!old.defined()) return {};
  const ValueRef v =
      values_[static_cast<size_t>(old.node)][static_cast<size_t>(old.output)];
  if (!v.defined()) {
    throw InternalError(fmt::format("graph pass: node {} is used before it is mapped",
                                    from_.node(old.node).name));
  }
  return v;
}

std::vector<ValueRef> GraphRewriter::map(const std::vector<ValueRef>& old) const {
  std::vector<ValueRef> result;
  result.reserve(old.size());
  for (ValueRef v : old) result.push_back(map(v));
  return result;
}

void GraphRewriter::replace(ValueRef old, ValueRef replacement) {
  values_[static_cast<size_t>(old.node)][static_cast<size_t>(old.output)] = replacement;
}

void GraphRewriter::replace_order(int32_t old, int32_t replacement) {
  replace_order(
      old, replacement < 0 ? std::vector<int32_t>{} : std::vector<int32_t>{replacement});
}

void GraphRewriter::replace_order(int32_t old, std::vector<int32_t> replacement) {
  order_[static_cast<size_t>(old)] = std::move(replacement);
}

std::vector<int32_t> GraphRewriter::map_after(const std::vector<int32_t>& after) const {
  std::vector<int32_t> result;
  for (int32_t before : after) {
    for (int32_t now : order_[static_cast<size_t>(before)]) {
      if (std::find(result.begin(), result.end(), now) == result.end()) {
        result.push_back(now);
      }
    }
  }
  return result;
}

int32_t GraphRewriter::copy(int32_t old) { return copy(old, from_.node(old).subgraphs); }

int32_t GraphRewriter::copy(int32_t old, std::vector<GraphPtr> subgraphs) {
  const Node& n = from_.node(old);
  Node made = n;
  made.inputs = map(n.inputs);
  made.subgraphs = std::move(subgraphs);
  made.after = map_after(n.after);
  const int32_t index = to_.add_node(std::move(made));
  for (int32_t i = 0; i < static_cast<int32_t>(n.outputs.size()); ++i) {
    replace({old, i}, {index, i});
  }
  replace_order(old, index);
  return index;
}

Graph GraphRewriter::finish() {
  to_.results() = map(from_.results());
  to_.final_states() = map(from_.final_states());
  return std::move(to_);
}

std::vector<std::vector<int32_t>> count_uses(const Graph& graph) {
  std::vector<std::vector<int32_t>> uses;
  uses.reserve(graph.nodes().size());
  for (const Node& n : graph.nodes()) uses.emplace_back(n.outputs.size(), 0);
  const auto use = [&](ValueRef v) {
    if (v.defined()) ++uses[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
  };
  for (const Node& n : graph.nodes()) {
    for (ValueRef v : n.inputs) use(v);
  }
  for (ValueRef v : graph.results()) use(v);
  for (ValueRef v : graph.final_states()) use(v);
  return uses;
}

Graph map_subgraphs(const Graph& graph, GraphPass pass) {
  GraphRewriter rewriter(graph);
  for (int32_t i = 0; i < graph.size(); ++i) {
    std::vector<GraphPtr> subgraphs;
    for (const GraphPtr& g : graph.node(i).subgraphs) {
      subgraphs.push_back(std::make_shared<const Graph>(pass(map_subgraphs(*g, pass))));
    }
    rewriter.copy(i, std::move(subgraphs));
  }
  return rewriter.finish();
}

}  // namespace tandem
