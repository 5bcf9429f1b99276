// The gradient of relu becomes part of the gradient of the batch normalisation before it:
// what arrives is masked where it is read, instead of being written and read again. Where
// relu's result came from nothing but the normalisation it is computed again, by the same
// arithmetic, and not read. Where the gradient is the sum of two (a block with a
// shortcut) the sum is taken along, and what others want of it is written on the way.
// After fuse_norm. Bits of the normalisation's gradients may change where something is
// written for others: sums over the batch are then cut into other parts.
#include <algorithm>

#include "graph/passes/fusion.h"
#include "graph/passes/fusion_graph.h"
#include "graph/passes/fusion_rewrite.h"
#include "ops/fused_norms.h"

namespace tandem {

namespace {

// A normalisation's gradient and what it swallows.
struct GradEnd {
  int32_t norm = -1, relu = -1;  // the gradients
  int32_t add = -1;              // -1: there is one gradient
  ValueRef dy, more;
  ValueRef y, offset;  // one of them
  bool side = false;   // what relu's gradient gives is wanted
};

class NormGradFinder {
 public:
  explicit NormGradFinder(const FusionGraph& graph)
      : fusion_(graph), graph_(graph.graph()) {}

  std::optional<GradEnd> find(int32_t norm) const {
    const Node& n = graph_.node(norm);
    if (!n.is_op("FusedBatchNormGradV3") || !n.outputs[0].shape.is_known()) {
      return std::nullopt;
    }
    GradEnd e;
    e.norm = norm;
    const ValueRef masked = n.inputs[0];
    e.relu = masked.node;
    const Node& relu = graph_.node(e.relu);
    if (!relu.is_op("ReluGrad") || relu.device != n.device) return std::nullopt;
    const Shape& shape = n.outputs[0].shape;
    e.dy = relu.inputs[0];
    e.y = relu.inputs[1];
    if (fusion_.shape(masked) != shape || fusion_.shape(e.dy) != shape ||
        fusion_.shape(e.y) != shape || is_spread(e.dy)) {
      return std::nullopt;
    }
    find_offset(n, e);
    e.side = fusion_.is_returned(masked) || fusion_.users(masked).size() > 1;
    take_sum(shape, e);
    if (e.y.defined() && (is_step(e.dy) || is_step(e.more))) return std::nullopt;
    return comes_first(e) ? std::optional(e) : std::nullopt;
  }

 private:
  // Read through a broadcast: a program of elementwise ops need not write it.
  bool is_spread(ValueRef v) const {
    const ValueRef seen = fusion_.through_views(v);
    return fusion_.is_free(seen.node);
  }
  bool wanted_once(ValueRef v) const {
    return !fusion_.is_returned(v) && fusion_.users(v).size() == 1;
  }
  // Made for this alone by an elementwise op: that and relu's gradient are one program,
  // which reads and writes less.
  bool is_step(ValueRef v) const {
    if (!v.defined() || !wanted_once(v)) return false;
    const Node& n = graph_.node(v.node);
    return n.kind == Node::Kind::kOp && !n.op->expression.empty();
  }

  // The normalisation that relu's result is of, if the gradient has its very inputs.
  void find_offset(const Node& n, GradEnd& e) const {
    const Node& made = graph_.node(e.y.node);
    if (e.y.output != 0 || !made.is_op("FusedBatchNormEx") || made.device != n.device) {
      return;
    }
    const auto& a = made.attrs.ref().as<FusedBatchNormExAttrs>();
    const auto& g = n.attrs.ref().as<nn::FusedBatchNormAttrs>();
    const bool plain = a.activation == "Relu" && (made.inputs.size() <= kNormSide ||
                                                  !made.inputs[kNormSide].defined());
    const auto moments = [&](int32_t k) {
      return a.is_training ? ValueRef{e.y.node, k} : made.inputs[static_cast<size_t>(k)];
    };
    if (plain && a.epsilon == g.epsilon && a.data_format == g.data_format &&
        a.is_training == g.is_training && made.inputs[0] == n.inputs[1] &&
        made.inputs[1] == n.inputs[2] && moments(3) == n.inputs[3] &&
        moments(4) == n.inputs[4]) {
      e.offset = made.inputs[2];
      e.y = {};
    }
  }

  void take_sum(const Shape& shape, GradEnd& e) const {
    const Node& n = graph_.node(e.dy.node);
    if (!n.is_op("AddV2") || n.device != graph_.node(e.relu).device ||
        !wanted_once(e.dy)) {
      return;
    }
    for (const ValueRef v : n.inputs) {
      if (fusion_.shape(v) != shape || is_spread(v)) return;
    }
    e.add = e.dy.node;
    e.dy = n.inputs[0];
    e.more = n.inputs[1];
    e.side = true;
  }

  // Whether everything that any of them wants is there before the first of them: then
  // they can be one node in its place, whatever else becomes one.
  bool comes_first(const GradEnd& e) const {
    const int32_t first = e.add >= 0 ? e.add : e.relu;
    const auto fits = [&](int32_t member) {
      const auto& before = fusion_.before()[static_cast<size_t>(member)];
      return std::all_of(before.begin(), before.end(), [&](int32_t b) {
        return b < first || (b == e.add && member == e.relu) ||
               (b == e.relu && member == e.norm);
      });
    };
    const auto& others = graph_.node(e.norm).inputs;
    const bool once = std::count(others.begin(), others.end(), ValueRef{e.relu, 0}) == 1;
    return once && fits(e.relu) && fits(e.norm);
  }

  const FusionGraph& fusion_;
  const Graph& graph_;
};

FusionReplacement replacement(const Graph& graph, const GradEnd& e) {
  const Node& norm = graph.node(e.norm);
  const auto& a = norm.attrs.ref().as<nn::FusedBatchNormAttrs>();
  FusionReplacement r;
  if (e.add >= 0) r.members.push_back(e.add);
  r.members.push_back(e.relu);
  r.members.push_back(e.norm);
  std::vector<ValueRef> inputs = norm.inputs;
  inputs.resize(kNormGradMore + 1);
  inputs[0] = e.dy;
  inputs[kNormGradY] = e.y;
  inputs[kNormGradOffset] = e.offset;
  inputs[kNormGradMore] = e.more;
  for (const ValueRef v : inputs) {
    r.inputs.push_back(v.defined() ? FusionReplacement::Input{v, graph.info(v).shape}
                                   : FusionReplacement::Input{});
  }
  for (size_t o = 0; o < norm.outputs.size(); ++o) {
    r.outputs.push_back({{ValueRef{e.norm, static_cast<int32_t>(o)}},
                         norm.outputs[o].dtype,
                         norm.outputs[o].shape});
  }
  const ValueInfo& whole = norm.outputs[0];
  if (e.side) {
    r.outputs.push_back({{ValueRef{e.relu, 0}}, whole.dtype, whole.shape});
  } else {
    r.outputs.push_back({{}, whole.dtype, Shape{0}});
  }
  r.op = &OpTable::get().at("FusedBatchNormGradEx");
  r.attrs = Attrs(attrs_ref(
      FusedBatchNormGradExAttrs{a.epsilon, a.data_format, a.is_training, e.side}));
  r.name = e.add >= 0 ? "fused/Add_Relu_BatchNormGrad" : "fused/Relu_BatchNormGrad";
  r.note = std::string("FusedBatchNormGradV3 begins with ") +
           (e.add >= 0 ? "a sum and ReluGrad" : "ReluGrad") +
           (e.y.defined() ? "" : ", whose mask it computes again");
  return r;
}

bool has_norm_grads(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& n) {
    return n.is_op("FusedBatchNormGradV3") ||
           std::any_of(n.subgraphs.begin(), n.subgraphs.end(),
                       [](const GraphPtr& g) { return has_norm_grads(*g); });
  });
}

}  // namespace

Graph fuse_norm_grad(const Graph& graph, FusionNotes* notes, const EndAllowed& allowed) {
  if (!has_norm_grads(graph)) return graph;
  const FusionGraph fusion(graph);
  const NormGradFinder finder(fusion);
  std::vector<FusionReplacement> replacements;
  // Of two normalisations behind one relu, the first takes its gradient.
  std::vector<bool> taken(graph.nodes().size(), false);
  for (int32_t i = 0; i < graph.size(); ++i) {
    const std::optional<GradEnd> e = finder.find(i);
    if (!e || taken[static_cast<size_t>(e->relu)]) continue;
    FusionReplacement made = replacement(graph, *e);
    if (allowed &&
        !allowed(graph, graph.node(e->norm), *made.op, made.attrs.ref(), e->y)) {
      continue;
    }
    for (int32_t m : made.members) taken[static_cast<size_t>(m)] = true;
    replacements.push_back(std::move(made));
  }
  return rewrite_fused(
      fusion, replacements,
      [&](const Graph& g) { return fuse_norm_grad(g, notes, allowed); }, notes);
}

}  // namespace tandem
