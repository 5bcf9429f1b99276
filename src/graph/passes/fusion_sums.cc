#include "graph/passes/fusion_sums.h"

#include <algorithm>
#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// Shorter sums are as well part of a fused program.
constexpr size_t kLongSum = 8;

bool adds_numbers(const Graph& graph, const Node& n) {
  if (!n.is_op("AddV2") || !n.outputs[0].shape.is_known() ||
      n.outputs[0].shape.num_elements() != 1) {
    return false;
  }
  return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueRef v) {
    return graph.info(v).shape == n.outputs[0].shape;
  });
}

// The terms of the sum that ends at a node, from the left; `links` gets the additions
// before it.
std::vector<ValueRef> terms_of(const Graph& graph,
                               const std::vector<std::vector<int32_t>>& uses, int32_t end,
                               std::vector<int32_t>& links) {
  std::vector<ValueRef> terms;
  for (int32_t at = end;;) {
    const Node& n = graph.node(at);
    terms.push_back(n.inputs[1]);
    const ValueRef left = n.inputs[0];
    const bool link = adds_numbers(graph, graph.node(left.node)) &&
                      uses[static_cast<size_t>(left.node)][0] == 1 &&
                      graph.node(left.node).device == n.device;
    if (!link) {
      terms.push_back(left);
      break;
    }
    links.push_back(left.node);
    at = left.node;
  }
  std::reverse(terms.begin(), terms.end());
  return terms;
}

// Numbers 0 and 1 in the place of bools, for as long as only All and Pack look at them.
class AllLowering {
 public:
  explicit AllLowering(const Graph& graph) : old_(graph), rewriter_(graph) {}

  Graph run() {
    for (int32_t i = 0; i < old_.size(); ++i) {
      const Node& n = old_.node(i);
      if (reduces_everything(n)) {
        lower(i, add("Min", {number(n.inputs[0])}, n, &n.attrs));
      } else if (packs_numbers(n)) {
        std::vector<ValueRef> inputs;
        for (ValueRef v : n.inputs) inputs.push_back(number(v));
        lower(i, add("Pack", std::move(inputs), n, &n.attrs));
      } else {
        rewriter_.copy(i);
      }
    }
    return rewriter_.finish();
  }

 private:
  static int64_t key(ValueRef v) { return int64_t{v.node} << 32 | v.output; }

  bool reduces_everything(const Node& n) const {
    if (!n.is_op("All") || !old_.info(n.inputs[0]).shape.is_known()) return false;
    const auto& attrs = n.attrs.ref().as<ReduceAttrs>();
    const auto rank = static_cast<size_t>(old_.info(n.inputs[0]).shape.rank());
    if (rank == 0 || attrs.no_axes) return false;
    if (!attrs.axis.empty() && attrs.axis.size() != rank) return false;
    // Worth it where the bools need not be written, or are none any more.
    const Node& maker = old_.node(n.inputs[0].node);
    return numbers_.count(key(n.inputs[0])) ||
           (maker.op && !maker.op->expression.empty());
  }
  // Checks of single numbers need no reduction and are still bools; they follow the rest.
  bool packs_numbers(const Node& n) const {
    return n.is_op("Pack") &&
           std::any_of(n.inputs.begin(), n.inputs.end(),
                       [&](ValueRef v) { return numbers_.count(key(v)) != 0; });
  }

  ValueRef add(const char* op, std::vector<ValueRef> inputs, const Node& like,
               const Attrs* attrs) {
    const int32_t made = rewriter_.to().add_op(OpTable::get().at(op), attrs->ref(),
                                               std::move(inputs), like.name);
    rewriter_.to().node(made).device = like.device;
    rewriter_.to().node(made).location = like.location;
    return {made, 0};
  }
  ValueRef cast_to(ValueRef v, DType dtype, const Node& like) {
    const Attrs attrs(attrs_ref(CastAttrs{dtype}));
    return add("Cast", {v}, like, &attrs);
  }
  ValueRef number(ValueRef old) {
    const auto found = numbers_.find(key(old));
    if (found != numbers_.end()) return found->second;
    return cast_to(rewriter_.map(old), DType::kInt32, old_.node(old.node));
  }
  // `made` stands for the old node; others see a bool.
  void lower(int32_t old, ValueRef made) {
    numbers_[key({old, 0})] = made;
    rewriter_.replace({old, 0}, cast_to(made, DType::kBool, old_.node(old)));
    rewriter_.replace_order(old, made.node);
  }

  const Graph& old_;
  GraphRewriter rewriter_;
  std::unordered_map<int64_t, ValueRef> numbers_;  // old bool → new number
};

}  // namespace

std::optional<Graph> gather_sums(const Graph& graph) {
  const std::vector<std::vector<int32_t>> uses = count_uses(graph);
  std::unordered_map<int32_t, std::vector<ValueRef>> sums;
  std::vector<bool> link(graph.nodes().size(), false);
  for (int32_t i = graph.size() - 1; i >= 0; --i) {
    if (link[static_cast<size_t>(i)] || !adds_numbers(graph, graph.node(i))) continue;
    std::vector<int32_t> links;
    std::vector<ValueRef> terms = terms_of(graph, uses, i, links);
    if (terms.size() < kLongSum) continue;
    for (int32_t l : links) link[static_cast<size_t>(l)] = true;
    sums.emplace(i, std::move(terms));
  }
  if (sums.empty()) return std::nullopt;
  GraphRewriter rewriter(graph);
  for (int32_t i = 0; i < graph.size(); ++i) {
    if (link[static_cast<size_t>(i)]) continue;
    const auto sum = sums.find(i);
    if (sum == sums.end()) {
      rewriter.copy(i);
      continue;
    }
    const Node& n = graph.node(i);
    const int32_t made = rewriter.to().add_op(OpTable::get().at("AddN"), {},
                                              rewriter.map(sum->second), n.name);
    rewriter.to().node(made).device = n.device;
    rewriter.to().node(made).location = n.location;
    rewriter.replace({i, 0}, {made, 0});
    rewriter.replace_order(i, made);
  }
  return rewriter.finish();
}

std::optional<Graph> lower_all(const Graph& graph) {
  const bool any = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                               [](const Node& n) { return n.is_op("All"); });
  if (!any) return std::nullopt;
  return remove_dead_nodes(AllLowering(graph).run());
}

}  // namespace tandem
