// Canonical variables. Afterwards, in every graph and sub-graph:
//  - a state is read at most once, and never where its contents are known as a value
//  - additions and subtractions to variables are a read, an AddV2 or Sub and an
//    assignment (the same bits: both round once), so that fusion sees them
//  - an assignment is there only when a final state, a result, a sub-graph or an op on
//    part of the contents (gather, scatter) needs the state it makes
#include "graph/passes/common.h"
#include "graph/passes/passes.h"

namespace tandem {

namespace {

enum class Access { kRead, kAssign, kAdd, kSubtract, kOther };

// An update checks that shapes are equal where an addition would broadcast: it becomes
// one only where the shapes are known to be.
Access access_of(const Graph& g, const Node& n) {
  if (n.kind != Node::Kind::kOp) return Access::kOther;
  if (n.op->name == "ReadVariableOp") return Access::kRead;
  if (n.op->name == "AssignVariableOp") return Access::kAssign;
  const bool add = n.op->name == "AssignAddVariableOp";
  if (!add && n.op->name != "AssignSubVariableOp") return Access::kOther;
  const Shape &contents = g.info(n.inputs[0]).shape, &delta = g.info(n.inputs[1]).shape;
  if (!contents.is_known() || contents != delta) return Access::kOther;
  return add ? Access::kAdd : Access::kSubtract;
}

class StateRewriter {
 public:
  explicit StateRewriter(const Graph& graph) : graph_(graph), rewriter_(graph) {
    for (const Node& n : graph.nodes()) needed_.emplace_back(n.outputs.size(), false);
    entries_.resize(graph.nodes().size());
    for (size_t i = 0; i < entries_.size(); ++i) {
      entries_[i].resize(graph.nodes()[i].outputs.size());
    }
    // States that must exist as such: somebody takes more from them than the contents.
    for (const Node& n : graph.nodes()) {
      if (access_of(graph, n) != Access::kOther) continue;
      for (ValueRef v : n.inputs) need(v);
    }
    for (ValueRef v : graph.results()) need(v);
    for (ValueRef v : graph.final_states()) need(v);
  }

  Graph run() {
    for (int32_t i = 0; i < graph_.size(); ++i) visit(i);
    return rewriter_.finish();
  }

 private:
  // What is known about a state of the old graph: the last state that exists in the new
  // one, and the contents if they are known as a value.
  struct Entry {
    ValueRef base;
    ValueRef contents;
  };

  void need(ValueRef v) {
    if (v.defined() && graph_.info(v).state) {
      needed_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)] = true;
    }
  }
  Entry& entry(ValueRef v) {
    return entries_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
  }

  ValueRef read(ValueRef state, const Node& like) {
    Entry& e = entry(state);
    if (!e.contents.defined()) {
      const int32_t made = rewriter_.to().add_op(OpTable::get().at("ReadVariableOp"), {},
                                                 {e.base}, like.name + "/Read");
      annotate(made, like);
      e.contents = {made, 0};
    }
    return e.contents;
  }

  void annotate(int32_t made, const Node& like) {
    rewriter_.to().node(made).device = like.device;
    rewriter_.to().node(made).location = like.location;
  }

  void assign(int32_t i, ValueRef contents) {
    const Node& n = graph_.node(i);
    const ValueRef next{i, static_cast<int32_t>(n.outputs.size()) - 1};
    Entry e{entry(n.inputs[0]).base, contents};
    if (needed_[static_cast<size_t>(i)][static_cast<size_t>(next.output)]) {
      static const OpDef& op = OpTable::get().at("AssignVariableOp");
      const int32_t made = rewriter_.to().add_op(op, {}, {e.base, contents}, n.name);
      annotate(made, n);
      e.base = {made, 0};
      rewriter_.replace(next, e.base);
    }
    entry(next) = e;
  }

  void visit(int32_t i) {
    const Node& n = graph_.node(i);
    const Access access = access_of(graph_, n);
    switch (access) {
      case Access::kRead: {
        Entry& e = entry(n.inputs[0]);
        if (!e.contents.defined()) {
          Node made = n;
          made.inputs = {e.base};
          e.contents = {rewriter_.to().add_node(std::move(made)), 0};
        }
        rewriter_.replace({i, 0}, e.contents);
        return;
      }
      case Access::kAssign:
        return assign(i, rewriter_.map(n.inputs[1]));
      case Access::kAdd:
      case Access::kSubtract: {
        const bool add = access == Access::kAdd;
        const ValueRef old = read(n.inputs[0], n);
        const int32_t made = rewriter_.to().add_op(
            OpTable::get().at(add ? "AddV2" : "Sub"), {},
            {old, rewriter_.map(n.inputs[1])}, n.name + (add ? "/Add" : "/Sub"));
        annotate(made, n);
        return assign(i, {made, 0});
      }
      case Access::kOther:
        break;
    }
    rewriter_.copy(i, rewrite_subgraphs(n, canonical_states));
    for (int32_t k = 0; k < static_cast<int32_t>(n.outputs.size()); ++k) {
      if (n.outputs[static_cast<size_t>(k)].state) {
        entry({i, k}).base = rewriter_.map({i, k});
      }
    }
  }

  const Graph& graph_;
  GraphRewriter rewriter_;
  std::vector<std::vector<bool>> needed_;
  std::vector<std::vector<Entry>> entries_;
};

}  // namespace

Graph canonical_states(const Graph& graph) { return StateRewriter(graph).run(); }

}  // namespace tandem
