// The layout pass. Transposes move towards each other and vanish, and ops whose layout
// the platform's kernels do badly (channels first) run in the other one.
//
// For one permutation at a time the pass chooses for every node that can work on permuted
// values whether it does. A Transpose is then no work but a reader of one layout and a
// maker of the other; what costs is every value that is read in a layout in which it is
// not made, by its bytes, once. The choice is the cheapest one (layout_cut.h), and it is
// taken only when it is cheaper than the graph as it is: transposes never grow in bytes
// but for what an op gains by its layout. Parameters, results, variables, constants and
// all that is not known to the rules keep the layout they were written in.
//
// Bits that change: sums of reductions, convolutions, average pools and batch
// normalisations may be added up in another order.
#include "graph/passes/layout.h"

#include <algorithm>

#include "graph/passes/common.h"
#include "graph/passes/layout_cut.h"

namespace tandem {

namespace {

// One permutation on one graph.
class LayoutChoice {
 public:
  LayoutChoice(const Graph& graph, const Ints& perm, const LayoutTarget& target)
      : graph_(graph), p_(perm), readers_(graph.nodes().size()) {
    for (const Node& n : graph.nodes()) {
      readers_[static_cast<size_t>(&n - graph.nodes().data())].resize(n.outputs.size());
    }
    for (int32_t i = 0; i < graph.size(); ++i) add_node(i, target);
    for (ValueRef v : graph.results()) read(v, LayoutNetwork::kAsWritten);
    for (ValueRef v : graph.final_states()) read(v, LayoutNetwork::kAsWritten);
    for (int32_t i = 0; i < graph.size(); ++i) add_values(i);
    const std::vector<char> before = network_.as_written();
    moved_ = network_.solve();
    saved_ = network_.cost(before) - network_.cost(moved_);
  }

  /// Bytes; above 0 the choice is worth taking.
  int64_t saved() const { return saved_; }
  const Permutation& permutation() const { return p_; }
  const LayoutRole& role(int32_t i) const { return roles_[static_cast<size_t>(i)]; }
  bool moved(int32_t i) const {
    const int32_t v = vertex_[static_cast<size_t>(i)];
    return v >= 0 && moved_[static_cast<size_t>(v)];
  }
  /// Reads a moved value and makes one as written (1), the other way round (-1), or no
  /// Transpose by this permutation (0).
  int alias(int32_t i) const { return alias_[static_cast<size_t>(i)]; }

 private:
  // A permutation that undoes itself may be read both ways. Transposes are taken in turns
  // along each path: the first one opens a stretch of moved values, the next closes it.
  int alias_of(int32_t i) {
    const Node& n = graph_.node(i);
    const Ints perm = plain_permutation(graph_, n);
    const bool to = perm == p_.to, back = perm == p_.back;
    int& depth = depth_.emplace_back(0);
    for (ValueRef v : n.inputs) {
      if (v.defined()) depth = std::max(depth, depth_[static_cast<size_t>(v.node)]);
    }
    if (to && back) return depth++ % 2 == 0 ? -1 : 1;
    return to ? 1 : back ? -1 : 0;
  }
  void add_node(int32_t i, const LayoutTarget& target) {
    const Node& n = graph_.node(i);
    alias_.push_back(alias_of(i));
    roles_.push_back(alias_.back() ? LayoutRole{} : layout_role(graph_, n, p_, target));
    const LayoutRole& role = roles_.back();
    vertex_.push_back(
        role.either ? network_.add_node(role.cost_as_written, role.cost_moved) : -1);
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      if (alias_.back() == 1) {
        read(n.inputs[k], LayoutNetwork::kMoved);
      } else if (!role.either) {
        read(n.inputs[k], LayoutNetwork::kAsWritten);
      } else if (role.inputs[k]) {
        read(n.inputs[k], vertex_.back());
      } else {
        read(n.inputs[k], LayoutNetwork::kAsWritten);
      }
    }
  }
  void read(ValueRef v, int32_t vertex) {
    if (!v.defined()) return;
    readers_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)].push_back(
        vertex);
  }
  void add_values(int32_t i) {
    const Node& n = graph_.node(i);
    for (int32_t k = 0; k < static_cast<int32_t>(n.outputs.size()); ++k) {
      const ValueInfo& info = graph_.info({i, k});
      if (info.state || !info.shape.is_known() || info.shape.rank() != p_.rank())
        continue;
      const LayoutRole& r = role(i);
      const int32_t maker = alias(i) == -1 ? LayoutNetwork::kMoved
                            : r.either && r.outputs[static_cast<size_t>(k)]
                                ? vertex_[static_cast<size_t>(i)]
                                : LayoutNetwork::kAsWritten;
      network_.add_value(maker, readers_[static_cast<size_t>(i)][static_cast<size_t>(k)],
                         transpose_bytes(graph_, {i, k}, p_.to));
    }
  }

  const Graph& graph_;
  const Permutation p_;
  LayoutNetwork network_;
  std::vector<std::vector<std::vector<int32_t>>> readers_;
  std::vector<LayoutRole> roles_;
  std::vector<int> alias_, depth_;
  std::vector<int32_t> vertex_;
  std::vector<char> moved_;
  int64_t saved_ = 0;
};

// Builds the graph that a choice stands for. Every old value is made in one layout; the
// other one is a Transpose, made where it is first asked for.
class LayoutRewriter {
 public:
  LayoutRewriter(const Graph& graph, const LayoutChoice& choice)
      : graph_(graph), choice_(choice), rewriter_(graph), moved_(graph.nodes().size()) {
    for (size_t i = 0; i < moved_.size(); ++i) {
      moved_[i].resize(graph.nodes()[i].outputs.size());
    }
  }

  Graph run() {
    for (int32_t i = 0; i < graph_.size(); ++i) add(i);
    for (ValueRef v : graph_.results()) ensure_written(v);
    for (ValueRef v : graph_.final_states()) ensure_written(v);
    return rewriter_.finish();
  }

 private:
  void add(int32_t i) {
    const Node& n = graph_.node(i);
    if (choice_.alias(i) == 1) {
      rewriter_.replace({i, 0}, moved(n.inputs[0]));
    } else if (choice_.alias(i) == -1) {
      moved_at({i, 0}) = written(n.inputs[0]);
    } else if (choice_.moved(i)) {
      add_moved_node(i);
    } else {
      for (ValueRef v : n.inputs) ensure_written(v);
      rewriter_.copy(i);
    }
  }
  void add_moved_node(int32_t i) {
    const Node& n = graph_.node(i);
    const LayoutRole& role = choice_.role(i);
    std::vector<ValueRef> inputs;
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      inputs.push_back(role.inputs[k] ? moved(n.inputs[k]) : written(n.inputs[k]));
    }
    const auto outputs =
        add_moved(rewriter_.to(), graph_, n, std::move(inputs), choice_.permutation());
    for (size_t k = 0; k < outputs.size(); ++k) {
      const ValueRef old{i, static_cast<int32_t>(k)};
      if (role.outputs[k]) {
        moved_at(old) = outputs[k];
      } else {
        rewriter_.replace(old, outputs[k]);
      }
    }
  }

  ValueRef& moved_at(ValueRef v) {
    return moved_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)];
  }
  // A Transpose that stays keeps its name.
  std::string name_of(ValueRef v) const {
    const Node& n = graph_.node(v.node);
    return choice_.alias(v.node) ? n.name : n.name + "/layout";
  }
  ValueRef moved(ValueRef v) {
    ValueRef& m = moved_at(v);
    if (!m.defined()) {
      m = add_transpose(rewriter_.to(), rewriter_.map(v), choice_.permutation().to,
                        graph_.node(v.node), name_of(v));
    }
    return m;
  }
  ValueRef written(ValueRef v) {
    ensure_written(v);
    return rewriter_.map(v);
  }
  void ensure_written(ValueRef v) {
    if (!v.defined() || rewriter_.mapped(v)) return;
    rewriter_.replace(
        v, add_transpose(rewriter_.to(), moved_at(v), choice_.permutation().back,
                         graph_.node(v.node), name_of(v)));
  }

  const Graph& graph_;
  const LayoutChoice& choice_;
  GraphRewriter rewriter_;
  std::vector<std::vector<ValueRef>> moved_;  // by old node: the new value, moved
};

// Permutations that could be worth something: those of transposes, both ways, and those
// that ops ask for.
std::vector<Ints> candidates(const Graph& graph, const LayoutTarget& target) {
  constexpr size_t kMost = 8;
  std::vector<Ints> found;
  const auto add = [&](const Ints& perm) {
    if (perm.empty() || found.size() == kMost) return;
    if (std::find(found.begin(), found.end(), perm) == found.end()) found.push_back(perm);
  };
  for (const Node& n : graph.nodes()) {
    if (n.kind == Node::Kind::kOp) add(wanted_layout(n, graph, target));
  }
  for (const Node& n : graph.nodes()) {
    const Ints perm = plain_permutation(graph, n);
    if (perm.empty() || !moves(perm, graph.info(n.inputs[0]).shape)) continue;
    add(perm);
    add(Permutation(perm).back);
  }
  return found;
}

}  // namespace

Graph layout(const Graph& graph, const LayoutTarget& target) {
  GraphRewriter inside(graph);
  for (int32_t i = 0; i < graph.size(); ++i) {
    inside.copy(i, rewrite_subgraphs(graph.node(i),
                                     [&](const Graph& g) { return layout(g, target); }));
  }
  Graph best = inside.finish();
  // Each turn saves bytes; the bound is for graphs in which permutations chase each
  // other.
  constexpr int kMostTurns = 16;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    std::unique_ptr<LayoutChoice> taken;
    for (const Ints& perm : candidates(best, target)) {
      auto choice = std::make_unique<LayoutChoice>(best, perm, target);
      const int64_t least = taken ? taken->saved() : 0;
      if (choice->saved() > least) taken = std::move(choice);
    }
    if (!taken) break;
    Graph next = remove_dead_nodes(LayoutRewriter(best, *taken).run());
    best = std::move(next);
  }
  return best;
}

}  // namespace tandem
