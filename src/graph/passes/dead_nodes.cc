// Dead nodes: what no result, final state or ordered node needs. Nodes with sub-graphs
// lose the outputs that nobody takes, the operands that no branch uses, and, in loops,
// the carried values that influence nothing but themselves. Only nodes that do something
// ordered keep their place in the order.
#include "graph/passes/common.h"
#include "graph/passes/passes.h"
#include "graph/states.h"

namespace tandem {

namespace {

using Flags = std::vector<bool>;

void join(Flags& a, const Flags& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
}

struct Liveness {
  std::vector<Flags> outputs;   // by node: which outputs are needed
  std::vector<Flags> operands;  // by node with sub-graphs: which operands are needed
  Flags parameters;             // of the graph
};

// What is needed to make the results that `results` names, and to do what is ordered.
Liveness analyse(const Graph& g, const Flags& results);

// A loop needs a carried value that its condition or something ordered looks at, that is
// asked for, or that another needed one is made of.
Flags loop_operands(const Node& n, const Flags& outputs) {
  const auto carried = static_cast<size_t>(n.carried);
  Flags needed = analyse(*n.subgraphs[0], Flags(1, true)).parameters;
  for (size_t i = 0; i < carried; ++i) needed[i] = needed[i] || outputs[i];
  for (Flags before; before != needed;) {
    before = needed;
    const Flags made(needed.begin(), needed.begin() + n.carried);
    join(needed, analyse(*n.subgraphs[1], made).parameters);
  }
  return needed;
}

Flags branch_operands(const Node& n, const Flags& outputs) {
  Flags needed(operands_of(n).size(), false);
  for (const GraphPtr& g : n.subgraphs) join(needed, analyse(*g, outputs).parameters);
  return needed;
}

Liveness analyse(const Graph& g, const Flags& results) {
  Liveness live;
  for (const Node& n : g.nodes()) live.outputs.emplace_back(n.outputs.size(), false);
  live.operands.resize(live.outputs.size());
  const auto need = [&](ValueRef v) {
    if (v.defined()) {
      live.outputs[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)] = true;
    }
  };
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k]) need(g.results()[k]);
  }
  for (ValueRef v : g.final_states()) need(v);
  for (int32_t i = g.size() - 1; i >= 0; --i) {
    const Node& n = g.node(i);
    const Flags& outputs = live.outputs[static_cast<size_t>(i)];
    bool used = is_ordered(n);
    for (bool o : outputs) used = used || o;
    if (!used) continue;
    if (!n.has_subgraphs()) {
      for (ValueRef v : n.inputs) need(v);
      continue;
    }
    const auto operands = operands_of(n);
    for (size_t k = 0; k + operands.size() < n.inputs.size(); ++k) need(n.inputs[k]);
    Flags needed = n.kind == Node::Kind::kWhile ? loop_operands(n, outputs)
                                                : branch_operands(n, outputs);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (needed[k]) need(operands[k]);
    }
    live.operands[static_cast<size_t>(i)] = std::move(needed);
  }
  for (int32_t p : g.parameters()) {
    live.parameters.push_back(live.outputs[static_cast<size_t>(p)][0]);
  }
  return live;
}

// The graph without what is dead; of its parameters those stay that `parameters` names.
Graph prune(const Graph& g, const Flags& results, const Flags& parameters);

// Adds node `i` with what is needed of it.
void prune_node(GraphRewriter& rewriter, int32_t i, const Flags& outputs,
                const Flags& operands) {
  const Node& n = rewriter.from().node(i);
  const bool loop = n.kind == Node::Kind::kWhile;
  Node made = n;
  made.inputs.clear();
  made.outputs.clear();
  made.subgraphs.clear();
  made.after = is_ordered(n) ? rewriter.map_after(n.after) : std::vector<int32_t>{};
  const auto all = operands_of(n);
  for (size_t k = 0; k + all.size() < n.inputs.size(); ++k) {
    made.inputs.push_back(rewriter.map(n.inputs[k]));
  }
  for (size_t k = 0; k < all.size(); ++k) {
    if (operands[k]) made.inputs.push_back(rewriter.map(all[k]));
  }
  // What a loop carries it also gives out.
  const Flags kept =
      loop ? Flags(operands.begin(), operands.begin() + n.carried) : outputs;
  made.carried = 0;
  for (size_t k = 0; k < kept.size(); ++k) {
    if (!kept[k]) continue;
    made.outputs.push_back(n.outputs[k]);
    if (loop) ++made.carried;
  }
  for (size_t s = 0; s < n.subgraphs.size(); ++s) {
    const Flags& wanted = loop && s == 0 ? Flags(1, true) : kept;
    made.subgraphs.push_back(
        std::make_shared<const Graph>(prune(*n.subgraphs[s], wanted, operands)));
  }
  const bool ordered = is_ordered(n);
  const int32_t index = rewriter.to().add_node(std::move(made));
  int32_t next = 0;
  for (size_t k = 0; k < kept.size(); ++k) {
    if (kept[k]) rewriter.replace({i, static_cast<int32_t>(k)}, {index, next++});
  }
  if (ordered) {
    rewriter.replace_order(i, index);
  } else {
    rewriter.drop_order(i);
  }
}

Graph prune(const Graph& g, const Flags& results, const Flags& parameters) {
  const Liveness live = analyse(g, results);
  GraphRewriter rewriter(g);
  size_t parameter = 0;
  for (int32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node(i);
    const Flags& outputs = live.outputs[static_cast<size_t>(i)];
    if (n.kind == Node::Kind::kParameter) {
      if (parameters[parameter++]) rewriter.copy(i);
      continue;
    }
    bool used = is_ordered(n);
    for (bool o : outputs) used = used || o;
    if (!used) {
      rewriter.drop_order(i);
    } else if (n.has_subgraphs()) {
      prune_node(rewriter, i, outputs, live.operands[static_cast<size_t>(i)]);
    } else {
      const int32_t made = rewriter.copy(i);
      if (!is_ordered(n)) {
        rewriter.to().node(made).after.clear();
        rewriter.drop_order(i);
      }
    }
  }
  Graph& to = rewriter.to();
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k]) to.results().push_back(rewriter.map(g.results()[k]));
  }
  // A variable whose last state is its first one is not written at all.
  for (ValueRef v : g.final_states()) {
    if (g.node(v.node).kind == Node::Kind::kVariable) continue;
    to.final_states().push_back(rewriter.map(v));
  }
  return std::move(to);
}

}  // namespace

Graph remove_dead_nodes(const Graph& graph) {
  return prune(graph, Flags(graph.results().size(), true),
               Flags(graph.parameters().size(), true));
}

}  // namespace tandem
