// What passes share: questions about nodes, and putting one graph into another.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/rewriter.h"

namespace tandem {

/// What is computed from constants is folded up to this size.
inline constexpr int64_t kMostFoldedBytes = 1 << 20;

/// Must run, in order: the op says so, or something in a sub-graph does.
bool is_ordered(const Node& node);
/// An op whose outputs depend on its inputs alone (states among them). It may fail.
bool is_pure(const Node& node);

inline const Node& producer(const Graph& graph, ValueRef v) { return graph.node(v.node); }
inline bool is_constant(const Graph& graph, ValueRef v) {
  return v.defined() && graph.node(v.node).kind == Node::Kind::kConstant;
}
/// The one element of a small constant, read as a double; false when it is none or has
/// another number of elements. Complex numbers have none.
bool scalar_constant(const Graph& graph, ValueRef v, double* value);

/// Appends the nodes of `body` to `to` with `operands` for its parameters; names get
/// `prefix` and a slash. Ordered nodes come after `after`, and `last` are those that the
/// next ones come after. Gives the values of its results.
std::vector<ValueRef> splice(Graph& to, const Graph& body,
                             std::span<const ValueRef> operands,
                             const std::string& prefix, const std::vector<int32_t>& after,
                             std::vector<int32_t>* last);
/// The same in place of node `old`, whose outputs become the body's results.
void splice_for(GraphRewriter& rewriter, int32_t old, const Graph& body,
                std::span<const ValueRef> operands);

/// A constant on the host.
Tensor host_tensor(DType dtype, const Shape& shape, const void* data);
/// A vector (or, for one value, a scalar) of integers of that dtype.
Tensor host_int_tensor(DType dtype, const Shape& shape, std::span<const int64_t> values);
/// A number as a scalar of that dtype; also bool.
Tensor host_scalar(DType dtype, double value);

/// The sub-graphs of a node, each rewritten by `pass`.
template <class Pass>
std::vector<GraphPtr> rewrite_subgraphs(const Node& node, Pass&& pass) {
  std::vector<GraphPtr> made;
  for (const GraphPtr& g : node.subgraphs) {
    made.push_back(std::make_shared<const Graph>(pass(*g)));
  }
  return made;
}

}  // namespace tandem
