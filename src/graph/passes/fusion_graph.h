// FusionGraph: a graph as fusion looks at it. Nodes that only change how elements are
// looked at (reshapes, broadcasts, fills) are free: they are made again wherever somebody
// needs them and stand in nobody's way. The others depend on each other directly.
// Borrowed: the graph outlives it. One thread.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace tandem {

class FusionGraph {
 public:
  enum class Role : uint8_t { kNode, kView, kBroadcast, kFill };

  explicit FusionGraph(const Graph& graph);

  const Graph& graph() const { return graph_; }
  Role role(int32_t node) const { return roles_[static_cast<size_t>(node)]; }
  bool is_free(int32_t node) const { return role(node) != Role::kNode; }
  const Shape& shape(ValueRef v) const { return graph_.info(v).shape; }

  /// What a free node looks at.
  ValueRef free_input(int32_t node) const;
  /// Through views alone; the same elements in the same order.
  ValueRef through_views(ValueRef v) const;
  /// Through everything free.
  ValueRef source(ValueRef v) const;

  /// Nodes that read a value, free ones included, once per use.
  std::span<const int32_t> users(ValueRef v) const;
  /// A result or a final state.
  bool is_returned(ValueRef v) const { return returned_[index(v)]; }

  /// Who must come before and after a node that is not free: values, order of effects,
  /// and readers of a state before its next writer (who then writes in place).
  const std::vector<std::vector<int32_t>>& before() const { return before_; }
  const std::vector<std::vector<int32_t>>& after() const { return after_; }

 private:
  size_t index(ValueRef v) const {
    return static_cast<size_t>(first_[static_cast<size_t>(v.node)] + v.output);
  }
  void find_roles();
  void find_users();
  void find_order();
  void add_edge(int32_t from, int32_t to);

  const Graph& graph_;
  std::vector<Role> roles_;
  std::vector<int32_t> first_;  // node → index of its first value
  std::vector<int32_t> user_begin_, user_;
  std::vector<bool> returned_;
  std::vector<std::vector<int32_t>> before_, after_;
};

}  // namespace tandem
