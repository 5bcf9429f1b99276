// Batch normalisation that ends with relu, or with the sum of another tensor and relu (as
// blocks with a shortcut do), becomes one op: the result is written once instead of two
// or three times. Only values that nobody else wants are swallowed; relu's gradient looks
// at the result, whose sign is that of what went in.
#include <algorithm>

#include "graph/passes/fusion.h"
#include "graph/passes/fusion_graph.h"
#include "graph/passes/fusion_rewrite.h"
#include "ops/fused_norms.h"

namespace tandem {

namespace {

// A normalisation and what it swallows.
struct NormEnd {
  int32_t norm = -1;
  int32_t add = -1;  // -1: nothing is added
  int32_t relu = -1;
  ValueRef side;
  std::vector<int32_t> moved;  // gradients that must look at the result
};

class NormFinder {
 public:
  explicit NormFinder(const FusionGraph& graph) : fusion_(graph), graph_(graph.graph()) {}

  std::optional<NormEnd> find(int32_t norm) const {
    const Node& n = graph_.node(norm);
    if (!n.is_op("FusedBatchNormV3") || !n.outputs[0].shape.is_known()) {
      return std::nullopt;
    }
    NormEnd e;
    e.norm = norm;
    ValueRef value{norm, 0};
    if (!fusion_.is_returned(value) && fusion_.users(value).size() == 1) {
      const int32_t user = fusion_.users(value)[0];
      if (adds(user, value, &e.side)) {
        e.add = user;
        value = {user, 0};
      }
    }
    if (!take_relu(value, e)) return std::nullopt;
    return e;
  }

 private:
  bool same_place(int32_t a, int32_t b) const {
    return graph_.node(a).device == graph_.node(b).device;
  }

  // The sum of the value and another one of its shape that does not come from the norm.
  bool adds(int32_t user, ValueRef value, ValueRef* side) const {
    const Node& n = graph_.node(user);
    if (!n.is_op("AddV2") || !same_place(user, value.node)) return false;
    *side = n.inputs[0] == value ? n.inputs[1] : n.inputs[0];
    const Shape& shape = fusion_.shape(value);
    return !(*side == value) && fusion_.shape(*side) == shape &&
           n.outputs[0].shape == shape && !comes_after(fusion_.source(*side), value.node);
  }

  // Whether a value depends on a node: its other outputs may lead there.
  bool comes_after(ValueRef value, int32_t node) const {
    if (value.node < node) return false;  // nodes are in order
    std::vector<bool> seen(graph_.nodes().size(), false);
    std::vector<int32_t> left = {value.node};
    while (!left.empty()) {
      const int32_t at = left.back();
      left.pop_back();
      if (at == node) return true;
      if (at < node || seen[static_cast<size_t>(at)]) continue;
      seen[static_cast<size_t>(at)] = true;
      const auto& before = fusion_.before()[static_cast<size_t>(at)];
      left.insert(left.end(), before.begin(), before.end());
    }
    return false;
  }

  bool take_relu(ValueRef before, NormEnd& e) const {
    if (fusion_.is_returned(before)) return false;
    for (int32_t user : fusion_.users(before)) {
      const Node& n = graph_.node(user);
      if (n.is_op("Relu") && same_place(user, before.node)) {
        if (e.relu >= 0 && e.relu != user) return false;
        e.relu = user;
      } else if (n.is_op("ReluGrad") && !(n.inputs[0] == before)) {
        e.moved.push_back(user);
      } else {
        return false;
      }
    }
    return e.relu >= 0 && std::all_of(e.moved.begin(), e.moved.end(),
                                      [&](int32_t user) { return user > e.relu; });
  }

  const FusionGraph& fusion_;
  const Graph& graph_;
};

FusionReplacement replacement(const Graph& graph, const NormEnd& e) {
  const Node& norm = graph.node(e.norm);
  const auto& a = norm.attrs.ref().as<nn::FusedBatchNormAttrs>();
  FusionReplacement r;
  r.members.push_back(e.norm);
  if (e.add >= 0) r.members.push_back(e.add);
  r.members.push_back(e.relu);
  for (size_t i = 0; i < kNormSide; ++i) {
    const ValueRef v = i < norm.inputs.size() ? norm.inputs[i] : ValueRef{};
    r.inputs.push_back(v.defined() ? FusionReplacement::Input{v, graph.info(v).shape}
                                   : FusionReplacement::Input{});
  }
  r.inputs.push_back(e.add >= 0
                         ? FusionReplacement::Input{e.side, graph.info(e.side).shape}
                         : FusionReplacement::Input{});
  for (size_t o = 0; o < norm.outputs.size(); ++o) {
    const ValueRef old =
        o == 0 ? ValueRef{e.relu, 0} : ValueRef{e.norm, static_cast<int32_t>(o)};
    r.outputs.push_back({{old}, norm.outputs[o].dtype, norm.outputs[o].shape});
  }
  r.op = &OpTable::get().at("FusedBatchNormEx");
  r.attrs = Attrs(attrs_ref(FusedBatchNormExAttrs{a.epsilon, a.exponential_avg_factor,
                                                  a.data_format, a.is_training, "Relu"}));
  r.name = e.add >= 0 ? "fused/BatchNorm_Add_Relu" : "fused/BatchNorm_Relu";
  r.note = e.add >= 0 ? "FusedBatchNormV3 ends with a sum and Relu"
                      : "FusedBatchNormV3 ends with Relu";
  return r;
}

bool has_norms(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& n) {
    return n.is_op("FusedBatchNormV3") ||
           std::any_of(n.subgraphs.begin(), n.subgraphs.end(),
                       [](const GraphPtr& g) { return has_norms(*g); });
  });
}

}  // namespace

Graph fuse_norm(const Graph& graph, FusionNotes* notes, const EndAllowed& allowed) {
  if (!has_norms(graph)) return graph;
  Graph moved_graph = graph;
  std::vector<FusionReplacement> replacements;
  {
    const FusionGraph fusion(graph);
    const NormFinder finder(fusion);
    // Of two normalisations whose sum is taken, one is the other's side.
    std::vector<bool> taken(graph.nodes().size(), false);
    for (int32_t i = 0; i < graph.size(); ++i) {
      const std::optional<NormEnd> e = finder.find(i);
      if (!e) continue;
      FusionReplacement made = replacement(graph, *e);
      const auto is_taken = [&](int32_t m) { return taken[static_cast<size_t>(m)]; };
      if (std::any_of(made.members.begin(), made.members.end(), is_taken)) continue;
      if (allowed &&
          !allowed(graph, graph.node(e->norm), *made.op, made.attrs.ref(), e->side)) {
        continue;
      }
      for (int32_t m : made.members) taken[static_cast<size_t>(m)] = true;
      replacements.push_back(std::move(made));
      const ValueRef before{e->add >= 0 ? e->add : e->norm, 0};
      for (int32_t user : e->moved) {
        for (ValueRef& v : moved_graph.node(user).inputs) {
          if (v == before) v = {e->relu, 0};
        }
      }
    }
  }
  const FusionGraph fusion(moved_graph);
  return rewrite_fused(
      fusion, replacements, [&](const Graph& g) { return fuse_norm(g, notes, allowed); },
      notes);
}

}  // namespace tandem
