// Loop invariants. What a loop carries and never changes becomes an invariant; what its
// body or condition computes from invariants alone moves before the loop and becomes a
// new one. Only ops that cannot fail move: a loop may turn zero times. Reads of variables
// that the loop does not write move too.
#include "graph/passes/common.h"
#include "graph/passes/passes.h"
#include "graph/states.h"

namespace tandem {

namespace {

using Flags = std::vector<bool>;

bool movable(const Node& n) {
  if (n.kind != Node::Kind::kOp || n.op->dynamic || !n.after.empty()) return false;
  return n.op->effects == kPure || n.op->name == "ReadVariableOp";
}

// Carried values whose next value is the parameter itself become invariants: the node
// with its operands in the new order, and the new place of each old operand.
Node without_unchanged(const Node& n, std::vector<size_t>& place) {
  const Graph& body = *n.subgraphs[1];
  const auto carried = static_cast<size_t>(n.carried);
  std::vector<size_t> order, unchanged;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const bool changes =
        i < carried && !(body.results()[i] == ValueRef{body.parameters()[i], 0});
    if (changes) order.push_back(i);
    if (!changes) unchanged.push_back(i);
  }
  Node made = n;
  made.carried = static_cast<int32_t>(order.size());
  order.insert(order.end(), unchanged.begin(), unchanged.end());
  place.resize(order.size());
  made.inputs.clear();
  made.outputs.clear();
  for (size_t k = 0; k < order.size(); ++k) {
    place[order[k]] = k;
    made.inputs.push_back(n.inputs[order[k]]);
    if (k < static_cast<size_t>(made.carried))
      made.outputs.push_back(n.outputs[order[k]]);
  }
  for (GraphPtr& g : made.subgraphs) {
    // Parameters first, in the new order; then everything else.
    GraphRewriter rewriter(*g);
    for (size_t old : order) rewriter.copy(g->parameters()[old]);
    for (int32_t i = 0; i < g->size(); ++i) {
      if (g->node(i).kind != Node::Kind::kParameter) rewriter.copy(i);
    }
    Graph sub = rewriter.finish();
    if (&g == &made.subgraphs[1]) {
      std::vector<ValueRef> results;
      for (int32_t k = 0; k < made.carried; ++k) {
        results.push_back(sub.results()[order[static_cast<size_t>(k)]]);
      }
      sub.results() = std::move(results);
    }
    g = std::make_shared<const Graph>(std::move(sub));
  }
  return made;
}

// Moves what can be moved out of sub-graph `s` to the end of `to`; the loop's node (whose
// inputs are values of `to`) gets the new invariants.
void hoist(Graph& to, Node& loop, size_t s) {
  const Graph& sub = *loop.subgraphs[s];
  const auto count = static_cast<size_t>(sub.size());
  std::vector<ValueRef> outside(count);  // of constants and parameters: one value
  std::vector<int32_t> moved(count, -1);
  Flags available(count, false);
  for (size_t p = static_cast<size_t>(loop.carried); p < loop.inputs.size(); ++p) {
    const auto node = static_cast<size_t>(sub.parameters()[p]);
    available[node] = true;
    outside[node] = loop.inputs[p];
  }
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    const Node& n = sub.nodes()[i];
    if (n.kind == Node::Kind::kConstant) available[i] = true;  // copied when it is used
    if (!movable(n)) continue;
    bool all = true;
    for (ValueRef v : n.inputs) {
      all = all && (!v.defined() || available[static_cast<size_t>(v.node)]);
    }
    if (!all) continue;
    std::vector<ValueRef> inputs;
    for (ValueRef v : n.inputs) {
      if (!v.defined()) {
        inputs.emplace_back();
        continue;
      }
      const auto from = static_cast<size_t>(v.node);
      if (sub.node(v.node).kind == Node::Kind::kConstant && !outside[from].defined()) {
        Node copy = sub.node(v.node);
        copy.name = loop.name + "/" + copy.name;
        outside[from] = {to.add_node(std::move(copy)), 0};
      }
      inputs.push_back(moved[from] < 0 ? outside[from] : ValueRef{moved[from], v.output});
    }
    Node copy = n;
    copy.name = loop.name + "/" + n.name;
    copy.inputs = std::move(inputs);
    moved[i] = to.add_node(std::move(copy));
    available[i] = any = true;
  }
  if (!any) return;

  // Values that stay behind use become parameters of both sub-graphs.
  std::vector<ValueRef> wanted;
  const auto want = [&](ValueRef v) {
    if (!v.defined() || moved[static_cast<size_t>(v.node)] < 0) return;
    for (ValueRef w : wanted) {
      if (w == v) return;
    }
    wanted.push_back(v);
  };
  for (size_t i = 0; i < count; ++i) {
    if (moved[i] >= 0) continue;
    for (ValueRef v : sub.nodes()[i].inputs) want(v);
  }
  for (ValueRef v : sub.results()) want(v);
  const GraphPtr alive = loop.subgraphs[s];  // `sub` is looked at until the end
  for (size_t k = 0; k < loop.subgraphs.size(); ++k) {
    const Graph& g = *loop.subgraphs[k];
    GraphRewriter rewriter(g);
    for (int32_t p : g.parameters()) rewriter.copy(p);
    for (ValueRef v : wanted) {
      const Node& n = sub.node(v.node);
      Node parameter;
      parameter.kind = Node::Kind::kParameter;
      parameter.name = n.name;
      parameter.outputs = {n.outputs[static_cast<size_t>(v.output)]};
      const int32_t made = rewriter.to().add_node(std::move(parameter));
      if (k == s) rewriter.replace(v, {made, 0});
    }
    for (int32_t i = 0; i < g.size(); ++i) {
      if (g.node(i).kind == Node::Kind::kParameter) continue;
      if (k == s && moved[static_cast<size_t>(i)] >= 0) continue;
      rewriter.copy(i);
    }
    loop.subgraphs[k] = std::make_shared<const Graph>(rewriter.finish());
  }
  for (ValueRef v : wanted) {
    loop.inputs.push_back({moved[static_cast<size_t>(v.node)], v.output});
  }
}

}  // namespace

Graph hoist_loop_invariants(const Graph& graph) {
  GraphRewriter rewriter(graph);
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    std::vector<GraphPtr> subgraphs = rewrite_subgraphs(n, hoist_loop_invariants);
    if (n.kind != Node::Kind::kWhile) {
      rewriter.copy(i, std::move(subgraphs));
      continue;
    }
    Node loop = n;
    loop.inputs = rewriter.map(n.inputs);
    loop.after = rewriter.map_after(n.after);
    loop.subgraphs = std::move(subgraphs);
    const std::vector<ValueRef> given = loop.inputs;
    std::vector<size_t> place;
    loop = without_unchanged(loop, place);
    hoist(rewriter.to(), loop, 0);
    hoist(rewriter.to(), loop, 1);
    const auto carried = static_cast<size_t>(loop.carried);
    const int32_t made = rewriter.to().add_node(std::move(loop));
    for (size_t k = 0; k < static_cast<size_t>(n.carried); ++k) {
      rewriter.replace(
          {i, static_cast<int32_t>(k)},
          place[k] < carried ? ValueRef{made, static_cast<int32_t>(place[k])} : given[k]);
    }
    rewriter.replace_order(i, made);
  }
  return rewriter.finish();
}

}  // namespace tandem
