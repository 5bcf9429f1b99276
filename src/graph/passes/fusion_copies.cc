#include "graph/passes/fusion_copies.h"

#include <algorithm>
#include <map>

#include "graph/rewriter.h"

namespace tandem {

namespace {

// More readers than this, and writing the result once is the better bargain.
constexpr size_t kMostReaders = 4;

bool is_cheap(const std::string& op) {
  static constexpr std::string_view kCheap[] = {"Cast", "Neg",  "Abs",       "Square",
                                                "Relu", "Sign", "LogicalNot"};
  return std::find(std::begin(kCheap), std::end(kCheap), op) != std::end(kCheap);
}

// The clusters that would each get a copy: all who read the node's result, when nobody
// else does. Empty: it stays.
std::vector<int32_t> readers(const FusionPlanner& planner,
                             std::span<const int32_t> cluster, int32_t node) {
  const FusionGraph& graph = planner.graph();
  const FusionOp* op = planner.op(node);
  if (!op || op->reduction || op->operands.size() != 1 || op->elements <= 1 ||
      !is_cheap(op->name) || graph.is_returned({node, 0})) {
    return {};
  }
  const ValueRef source = graph.source(op->operands[0].root);
  const DType from = graph.graph().info(source).dtype;
  // What it is made from must be in memory, and be no longer to read.
  if (dtype_size(from) > dtype_size(op->dtype)) return {};
  if (cluster[static_cast<size_t>(source.node)] == cluster[static_cast<size_t>(node)]) {
    return {};
  }
  std::vector<int32_t> found;
  for (int32_t user : graph.users({node, 0})) {
    const FusionOp* u = planner.op(user);
    if (!u || graph.graph().node(user).device != graph.graph().node(node).device)
      return {};
    const int32_t c = cluster[static_cast<size_t>(user)];
    if (std::find(found.begin(), found.end(), c) == found.end()) found.push_back(c);
  }
  return found.size() > 1 && found.size() <= kMostReaders ? found
                                                          : std::vector<int32_t>{};
}

}  // namespace

std::optional<CopiedOps> copy_cheap_ops(const FusionPlanner& planner,
                                        std::span<const int32_t> cluster) {
  const Graph& graph = planner.graph().graph();
  std::map<int32_t, std::vector<int32_t>> wanted;  // node → clusters
  for (int32_t i = 0; i < graph.size(); ++i) {
    std::vector<int32_t> found = readers(planner, cluster, i);
    if (!found.empty()) wanted.emplace(i, std::move(found));
  }
  if (wanted.empty()) return std::nullopt;
  GraphRewriter rewriter(graph);
  CopiedOps result;
  std::map<std::pair<int32_t, int32_t>, ValueRef> copies;  // node, cluster → new value
  for (int32_t i = 0; i < graph.size(); ++i) {
    // A node that reads copied ones reads those of its cluster.
    for (ValueRef v : graph.node(i).inputs) {
      if (!v.defined() || !wanted.count(v.node)) continue;
      rewriter.replace(v, copies.at({v.node, cluster[static_cast<size_t>(i)]}));
    }
    const auto found = wanted.find(i);
    if (found == wanted.end()) {
      rewriter.copy(i);
      continue;
    }
    for (int32_t c : found->second) {
      const int32_t made = rewriter.copy(i);
      copies[{i, c}] = {made, 0};
      result.copies.push_back(made);
    }
  }
  result.graph = rewriter.finish();
  return result;
}

}  // namespace tandem
