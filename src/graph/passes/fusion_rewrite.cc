#include "graph/passes/fusion_rewrite.h"

#include <map>
#include <queue>

#include <fmt/format.h>

#include "graph/rewriter.h"
#include "ops/array_common.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using Role = FusionGraph::Role;

// Stays although nobody uses its outputs.
bool must_stay(const Node& n) {
  if (n.kind == Node::Kind::kParameter || n.has_subgraphs()) return true;
  return n.kind == Node::Kind::kOp &&
         (n.op->effects & ~static_cast<unsigned>(kReadsState)) != 0;
}

class FusedRewrite {
 public:
  FusedRewrite(const FusionGraph& graph,
               const std::vector<FusionReplacement>& replacements,
               const SubgraphPass& subgraphs, FusionNotes* notes)
      : graph_(graph),
        old_(graph.graph()),
        replacements_(replacements),
        subgraphs_(subgraphs),
        notes_(notes),
        rewriter_(graph.graph()) {}

  Graph run() {
    assign_units();
    order_units();
    find_live();
    for (int32_t unit : order_) {
      if (!live_[static_cast<size_t>(unit)]) continue;
      if (unit < num_replacements()) {
        make(replacements_[static_cast<size_t>(unit)]);
      } else {
        copy(unit - num_replacements());
      }
    }
    for (ValueRef v : old_.results()) ready(v);
    for (ValueRef v : old_.final_states()) ready(v);
    return rewriter_.finish();
  }

 private:
  int32_t num_replacements() const { return static_cast<int32_t>(replacements_.size()); }

  // Units are replacements, then old nodes that stay.
  void assign_units() {
    unit_.resize(old_.nodes().size());
    key_.resize(replacements_.size() + unit_.size(), -1);
    for (int32_t i = 0; i < old_.size(); ++i) {
      unit_[static_cast<size_t>(i)] = num_replacements() + i;
      if (!graph_.is_free(i)) key_[static_cast<size_t>(num_replacements() + i)] = i;
    }
    for (int32_t r = 0; r < num_replacements(); ++r) {
      for (int32_t m : replacements_[static_cast<size_t>(r)].members) {
        unit_[static_cast<size_t>(m)] = r;
        key_[static_cast<size_t>(num_replacements() + m)] = -1;
        key_[static_cast<size_t>(r)] = std::max(key_[static_cast<size_t>(r)], m);
      }
    }
  }

  // Dependencies first, the program's order otherwise.
  void order_units() {
    std::vector<int32_t> waits(key_.size(), 0);
    const auto each_edge = [&](auto&& edge) {
      for (size_t to = 0; to < unit_.size(); ++to) {
        for (int32_t from : graph_.before()[to]) {
          const int32_t a = unit_[static_cast<size_t>(from)], b = unit_[to];
          if (a != b) edge(a, b);
        }
      }
    };
    each_edge([&](int32_t, int32_t b) { ++waits[static_cast<size_t>(b)]; });
    std::vector<int32_t> begin(key_.size() + 1, 0);
    each_edge([&](int32_t a, int32_t) { ++begin[static_cast<size_t>(a) + 1]; });
    for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    std::vector<int32_t> after(static_cast<size_t>(begin.back()));
    std::vector<int32_t> next(begin.begin(), begin.end() - 1);
    each_edge([&](int32_t a, int32_t b) {
      after[static_cast<size_t>(next[static_cast<size_t>(a)]++)] = b;
    });
    using Entry = std::pair<int32_t, int32_t>;  // key, unit
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready_units;
    size_t units = 0;
    for (size_t u = 0; u < key_.size(); ++u) {
      if (key_[u] < 0) continue;
      ++units;
      if (waits[u] == 0) ready_units.emplace(key_[u], static_cast<int32_t>(u));
    }
    while (!ready_units.empty()) {
      const auto u = static_cast<size_t>(ready_units.top().second);
      ready_units.pop();
      order_.push_back(static_cast<int32_t>(u));
      for (auto i = static_cast<size_t>(begin[u]); i < static_cast<size_t>(begin[u + 1]);
           ++i) {
        const auto to = static_cast<size_t>(after[i]);
        if (--waits[to] == 0) ready_units.emplace(key_[to], after[i]);
      }
    }
    if (order_.size() != units) {
      throw InternalError(fmt::format("fusion made a cycle in graph {}", old_.name()));
    }
  }

  void find_live() {
    live_.assign(key_.size(), false);
    const auto need = [&](ValueRef v) {
      if (!v.defined()) return;
      const auto source = static_cast<size_t>(graph_.source(v).node);
      live_[static_cast<size_t>(unit_[source])] = true;
    };
    for (ValueRef v : old_.results()) need(v);
    for (ValueRef v : old_.final_states()) need(v);
    for (auto u = order_.rbegin(); u != order_.rend(); ++u) {
      if (*u < num_replacements()) {
        if (!live_[static_cast<size_t>(*u)]) continue;
        for (const auto& in : replacements_[static_cast<size_t>(*u)].inputs)
          need(in.value);
        continue;
      }
      const Node& n = old_.node(*u - num_replacements());
      if (must_stay(n)) live_[static_cast<size_t>(*u)] = true;
      if (!live_[static_cast<size_t>(*u)]) continue;
      for (ValueRef v : n.inputs) need(v);
    }
  }

  ValueRef dims(const Shape& shape) {
    auto [entry, fresh] = dims_.try_emplace(shape.str());
    if (fresh)
      entry->second = rewriter_.to().add_constant(host_vector(shape.dims()), "shape");
    return entry->second;
  }

  int32_t add(const char* op, std::vector<ValueRef> inputs, const Node& like) {
    const int32_t made =
        rewriter_.to().add_op(OpTable::get().at(op), {}, std::move(inputs), like.name);
    rewriter_.to().node(made).device = like.device;
    rewriter_.to().node(made).location = like.location;
    return made;
  }

  // A view of a new value, where `like` is.
  ValueRef view(ValueRef now, const Shape& shape, const Node& like) {
    if (rewriter_.to().info(now).shape == shape) return now;
    return {add("Reshape", {now, dims(shape)}, like), 0};
  }

  // Makes sure that an old value has a new one: free nodes are made when asked for.
  ValueRef ready(ValueRef v) {
    if (!v.defined()) return {};
    if (rewriter_.mapped(v)) return rewriter_.map(v);
    if (!graph_.is_free(v.node)) return rewriter_.map(v);  // throws
    const Node& n = old_.node(v.node);
    const ValueRef from = ready(graph_.free_input(v.node));
    const Shape& shape = n.outputs[0].shape;
    ValueRef made;
    if (graph_.role(v.node) == Role::kView) {
      made = view(from, shape, n);
    } else if (graph_.role(v.node) == Role::kBroadcast) {
      made = {add("BroadcastTo", {from, dims(shape)}, n), 0};
    } else {
      made = {add("Fill", {dims(shape), from}, n), 0};
    }
    rewriter_.replace(v, made);
    return made;
  }

  void copy(int32_t node) {
    const Node& n = old_.node(node);
    for (ValueRef v : n.inputs) ready(v);
    if (!n.has_subgraphs()) {
      rewriter_.copy(node);
      return;
    }
    std::vector<GraphPtr> subgraphs;
    for (const GraphPtr& g : n.subgraphs) {
      subgraphs.push_back(std::make_shared<const Graph>(subgraphs_(*g)));
    }
    rewriter_.copy(node, std::move(subgraphs));
  }

  void make(const FusionReplacement& r) {
    const Node& last = old_.node(r.members.back());
    Node node;
    node.op = r.op;
    node.attrs = r.attrs;
    node.name = r.name;
    node.device = last.device;
    node.location = last.location;
    for (const auto& in : r.inputs) {
      const ValueRef from = ready(in.value);
      node.inputs.push_back(from.defined() ? view(from, in.shape, last) : from);
    }
    for (const auto& out : r.outputs) {
      ValueInfo info;
      info.dtype = out.dtype;
      info.shape = out.shape;
      node.outputs.push_back(std::move(info));
    }
    const int32_t made = rewriter_.to().add_node(std::move(node));
    for (size_t o = 0; o < r.outputs.size(); ++o) {
      for (ValueRef old : r.outputs[o].values) {
        const ValueRef now{made, static_cast<int32_t>(o)};
        rewriter_.replace(old, view(now, graph_.shape(old), last));
      }
    }
    if (notes_) notes_->push_back({rewriter_.to().node(made).name, r.note});
  }

  const FusionGraph& graph_;
  const Graph& old_;
  const std::vector<FusionReplacement>& replacements_;
  const SubgraphPass& subgraphs_;
  FusionNotes* notes_;
  GraphRewriter rewriter_;
  std::vector<int32_t> unit_;   // old node → unit
  std::vector<int32_t> key_;    // unit → place in the program; -1: none
  std::vector<int32_t> order_;  // units
  std::vector<bool> live_;
  std::map<std::string, ValueRef> dims_;
};

}  // namespace

Graph rewrite_fused(const FusionGraph& graph,
                    const std::vector<FusionReplacement>& replacements,
                    const SubgraphPass& subgraphs, FusionNotes* notes) {
  return FusedRewrite(graph, replacements, subgraphs, notes).run();
}

}  // namespace tandem
