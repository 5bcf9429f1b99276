// GraphRewriter: builds a new graph from an old one, node by node in order, while a pass
// says which values stand for others. Every pass is a pure function Graph → Graph written
// with it. Used by one thread.
#pragma once

#include "graph/graph.h"

namespace tandem {

class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& from);

  const Graph& from() const { return from_; }
  Graph& to() { return to_; }

  /// The new value for an old one; throws InternalError when it has none yet.
  ValueRef map(ValueRef old) const;
  bool mapped(ValueRef old) const;
  std::vector<ValueRef> map(const std::vector<ValueRef>& old) const;
  /// Old value `old` is `replacement` (of the new graph) from now on.
  void replace(ValueRef old, ValueRef replacement);
  /// Copies an old node with mapped inputs and maps its outputs; returns its new index.
  int32_t copy(int32_t old);
  /// The same with other sub-graphs.
  int32_t copy(int32_t old, std::vector<GraphPtr> subgraphs);
  /// Ordered nodes that came after `old` come after `replacement` (-1: after nothing).
  void replace_order(int32_t old, int32_t replacement);
  void replace_order(int32_t old, std::vector<int32_t> replacement);
  /// `old` goes: what came after it comes after what it came after.
  void drop_order(int32_t old) { replace_order(old, map_after(from_.node(old).after)); }
  /// The new nodes for those that an old node came after.
  std::vector<int32_t> map_after(const std::vector<int32_t>& after) const;

  /// Maps results and final states and gives the new graph out.
  Graph finish();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<std::vector<ValueRef>> values_;  // by old node
  std::vector<std::vector<int32_t>> order_;    // old node → new nodes, for `after`
};

/// Number of readers of each value: uses[node][output], results and final states
/// included.
std::vector<std::vector<int32_t>> count_uses(const Graph& graph);

/// Applies a pass to the sub-graphs of all nodes, innermost first.
using GraphPass = Graph (*)(const Graph&);
Graph map_subgraphs(const Graph& graph, GraphPass pass);

}  // namespace tandem
