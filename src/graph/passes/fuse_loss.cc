// Cross entropies whose gradient is scaled (by the mean over a batch, a weight for each
// row, a loss scale) write it so. In mixed precision, where logits are cast to float32
// for the loss and its gradient is cast back, they also read the logits as they are and
// write the gradient as it is wanted, where the separate ops read and write many times as
// much. Before fuse_elementwise, which would swallow the scale and the cast.
#include <algorithm>

#include "graph/passes/fusion.h"
#include "graph/passes/fusion_graph.h"
#include "graph/passes/fusion_rewrite.h"
#include "ops/fused_losses.h"

namespace tandem {

namespace {

constexpr const char* kLoss = "SparseSoftmaxCrossEntropyWithLogits";

// A cross entropy and what it swallows; the cast before it goes when nobody else reads.
struct LossEnd {
  int32_t loss = -1;
  ValueRef features;
  bool narrow = false;                 // they are in half precision
  int32_t scaled = -1, cast = -1;      // of its gradient; -1: none
  ValueRef gradient = {}, scale = {};  // gradient: the last of them, if it is wanted
  Shape scale_shape = {};
};

class LossFinder {
 public:
  explicit LossFinder(const FusionGraph& graph) : fusion_(graph), graph_(graph.graph()) {}

  std::optional<LossEnd> find(int32_t loss) const {
    const Node& n = graph_.node(loss);
    if (!n.is_op(kLoss) || n.outputs[1].dtype != DType::kFloat32 ||
        !n.outputs[1].shape.is_known() ||
        fusion_.shape(n.inputs[0]) != n.outputs[1].shape) {
      return std::nullopt;
    }
    const Node& cast = graph_.node(fusion_.through_views(n.inputs[0]).node);
    if (cast.is_op("Cast") && cast.device == n.device &&
        (kHalfs & mask(graph_.info(cast.inputs[0]).dtype))) {
      const LossEnd e{.loss = loss, .features = cast.inputs[0], .narrow = true};
      if (const auto ended = with_gradient(e)) return ended;
    }
    return with_gradient({.loss = loss, .features = n.inputs[0]});
  }

 private:
  std::optional<LossEnd> with_gradient(LossEnd e) const {
    if (!take_gradient(e)) return std::nullopt;
    // What nobody wants stays, for its error.
    const auto wanted = [&](ValueRef v) {
      return v.defined() && (fusion_.is_returned(v) || !fusion_.users(v).empty());
    };
    return wanted({e.loss, 0}) || wanted(e.gradient) ? std::optional(e) : std::nullopt;
  }

  // Follows the gradient to where it is scaled, and cast if the features were; true as
  // well where nobody wants it.
  bool take_gradient(LossEnd& e) const {
    const Node& loss = graph_.node(e.loss);
    ValueRef value{e.loss, 1};
    if (!fusion_.is_returned(value) && fusion_.users(value).empty()) return true;
    while (!fusion_.is_returned(value) && fusion_.users(value).size() == 1) {
      const int32_t user = fusion_.users(value)[0];
      const Node& n = graph_.node(user);
      if (fusion_.role(user) == FusionGraph::Role::kView) {
        if (fusion_.free_input(user) != value) return false;  // asks for its shape
        value = {user, 0};
        continue;
      }
      if (n.kind != Node::Kind::kOp || n.device != loss.device) return false;
      if (n.is_op("Cast")) {
        e.cast = user;
        e.gradient = {user, 0};
        return e.narrow && n.outputs[0].dtype == graph_.info(e.features).dtype;
      }
      if (!n.is_op("Mul") || e.scaled >= 0 || !take_scale(n, value, e)) return false;
      e.scaled = user;
      value = {user, 0};
      if (e.narrow) continue;
      e.gradient = value;
      return true;
    }
    return false;
  }

  // The other factor of a product: one number, or one for each row.
  bool take_scale(const Node& product, ValueRef value, LossEnd& e) const {
    const ValueRef by =
        product.inputs[0] == value ? product.inputs[1] : product.inputs[0];
    const Shape &whole = fusion_.shape(value), &shape = fusion_.shape(by);
    const Shape& rows = graph_.node(e.loss).outputs[1].shape;
    if (by == value || product.outputs[0].shape != whole) return false;
    const ValueRef source = fusion_.source(by);
    if (fusion_.shape(source).num_elements() == 1) {
      e.scale = source;
      e.scale_shape = Shape{};
    } else {
      const bool by_row = shape.rank() == whole.rank() && whole.rank() > 0 &&
                          whole.dim(-1) == rows[1] && shape.dim(-1) == 1 &&
                          shape.num_elements() == rows[0];
      if (!by_row) return false;
      e.scale = by;
      e.scale_shape = Shape{rows[0]};
    }
    return graph_.info(e.scale).dtype == DType::kFloat32 &&
           !comes_after_loss(source.node);
  }

  // Whether a node depends on a cross entropy, this one or another: of two that scale
  // each other's gradient neither could come first. Or on a variable that is written:
  // a bad label is found before that.
  bool comes_after_loss(int32_t node) const {
    std::vector<bool> seen(graph_.nodes().size(), false);
    std::vector<int32_t> left = {node};
    while (!left.empty()) {
      const int32_t at = left.back();
      left.pop_back();
      if (seen[static_cast<size_t>(at)]) continue;
      seen[static_cast<size_t>(at)] = true;
      const Node& n = graph_.node(at);
      if (n.is_op(kLoss) || writes(n)) return true;
      const auto& before = fusion_.before()[static_cast<size_t>(at)];
      left.insert(left.end(), before.begin(), before.end());
    }
    return false;
  }

  static bool writes(const Node& n) {
    const bool source =
        n.kind == Node::Kind::kVariable || n.kind == Node::Kind::kParameter;
    return !source && std::any_of(n.outputs.begin(), n.outputs.end(),
                                  [](const ValueInfo& o) { return o.state; });
  }

  const FusionGraph& fusion_;
  const Graph& graph_;
};

FusionReplacement replacement(const Graph& graph, const LossEnd& e) {
  const Node& loss = graph.node(e.loss);
  const Shape& rows = loss.outputs[1].shape;
  const DType dtype = graph.info(e.features).dtype;
  FusionReplacement r;
  r.members.push_back(e.loss);
  if (e.scaled >= 0) r.members.push_back(e.scaled);
  if (e.cast >= 0) r.members.push_back(e.cast);
  r.inputs = {{e.features, rows}, {loss.inputs[1], graph.info(loss.inputs[1]).shape}};
  r.inputs.push_back(e.scale.defined() ? FusionReplacement::Input{e.scale, e.scale_shape}
                                       : FusionReplacement::Input{});
  r.outputs.push_back({{ValueRef{e.loss, 0}}, DType::kFloat32, Shape{rows[0]}});
  const bool differentiated = e.gradient.defined();
  if (differentiated) {
    r.outputs.push_back({{e.gradient}, dtype, rows});
  } else {
    r.outputs.push_back({{}, dtype, Shape{0}});
  }
  r.op = &OpTable::get().at("FusedSparseCrossEntropy");
  r.attrs = Attrs(attrs_ref(FusedSparseCrossEntropyAttrs{differentiated}));
  r.name = "fused/SparseCrossEntropy";
  r.note = kLoss;
  if (e.narrow) r.note += " reads logits before their cast,";
  r.note += !differentiated ? " without its gradient"
            : e.scaled >= 0 ? " writes its gradient scaled"
                            : " writes its gradient";
  if (e.cast >= 0) r.note += " and cast";
  return r;
}

bool has_losses(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& n) {
    return n.is_op(kLoss) ||
           std::any_of(n.subgraphs.begin(), n.subgraphs.end(),
                       [](const GraphPtr& g) { return has_losses(*g); });
  });
}

}  // namespace

Graph fuse_loss(const Graph& graph, FusionNotes* notes, const EndAllowed& allowed) {
  if (!has_losses(graph)) return graph;
  const FusionGraph fusion(graph);
  const LossFinder finder(fusion);
  std::vector<FusionReplacement> replacements;
  for (int32_t i = 0; i < graph.size(); ++i) {
    const std::optional<LossEnd> e = finder.find(i);
    if (!e) continue;
    FusionReplacement made = replacement(graph, *e);
    if (allowed &&
        !allowed(graph, graph.node(i), *made.op, made.attrs.ref(), e->features)) {
      continue;
    }
    replacements.push_back(std::move(made));
  }
  return rewrite_fused(
      fusion, replacements, [&](const Graph& g) { return fuse_loss(g, notes, allowed); },
      notes);
}

}  // namespace tandem
