#include "graph/lift_draws.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/idx.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "graph/states.h"

namespace tandem {

namespace {

constexpr std::string_view kDraw = "NextRandomState";

bool draws(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& n) {
    return n.is_op(kDraw) || std::any_of(n.subgraphs.begin(), n.subgraphs.end(),
                                         [](const GraphPtr& g) { return draws(*g); });
  });
}

// By node: its outputs follow from constants and from shapes of parameters. Such nodes
// cost nothing to run twice, and have no effects.
std::vector<char> follow_from_shapes(const Graph& graph) {
  std::vector<char> follows(graph.nodes().size(), 0);
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    if (n.kind == Node::Kind::kConstant) follows[idx(i)] = 1;
    if (n.kind != Node::Kind::kOp || n.op->effects || n.op->dynamic || !n.after.empty()) {
      continue;
    }
    bool all = true;
    for (size_t k = 0; k < n.inputs.size() && all; ++k) {
      const ValueRef v = n.inputs[k];
      if (!v.defined()) continue;
      const bool parameter = graph.node(v.node).kind == Node::Kind::kParameter;
      const bool shape_only = n.op->input_def(static_cast<int>(k)).shape_only;
      all = !graph.info(v).state && (follows[idx(v.node)] || (parameter && shape_only));
    }
    follows[idx(i)] = all;
  }
  return follows;
}

// The number of blocks, where it is known before a call.
bool known_blocks(const ValueInfo& info, int64_t& blocks) {
  if (!info.has_value || info.value.size() != 1 || info.value[0] == kUnknownValue) {
    return false;
  }
  blocks = info.value[0];
  return true;
}

// The part of a graph that computes some values, with all of its parameters.
GraphPtr part_of(const Graph& graph, const std::vector<ValueRef>& results) {
  std::vector<char> needed(graph.nodes().size(), 0);
  for (ValueRef v : results) needed[idx(v.node)] = 1;
  for (int32_t i = graph.size(); i-- > 0;) {
    if (!needed[idx(i)]) continue;
    for (ValueRef v : graph.node(i).inputs) {
      if (v.defined()) needed[idx(v.node)] = 1;
    }
  }
  Graph part(graph.name() + "_draws");
  std::vector<int32_t> made(graph.nodes().size(), -1);
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    if (n.kind != Node::Kind::kParameter && !needed[idx(i)]) continue;
    Node copy = n;
    copy.after.clear();
    for (ValueRef& v : copy.inputs) {
      if (v.defined()) v.node = made[idx(v.node)];
    }
    made[idx(i)] = part.add_node(std::move(copy));
  }
  for (ValueRef v : results) part.results().push_back({made[idx(v.node)], v.output});
  return std::make_shared<const Graph>(std::move(part));
}

}  // namespace

std::unique_ptr<LiftedDraws> lift_draws(const Graph& source) {
  if (!draws(source)) return nullptr;
  Graph graph = inline_calls(source);
  const std::vector<char> follows = follow_from_shapes(graph);
  auto lifted = std::make_unique<LiftedDraws>();
  std::vector<int32_t> nodes;
  std::vector<ValueRef> counts;
  bool all_known = true;
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    if (!n.is_op(kDraw)) {
      for (const GraphPtr& sub : n.subgraphs) {
        if (draws(*sub)) return nullptr;
      }
      continue;
    }
    int64_t blocks = 0;
    if (!known_blocks(graph.info(n.inputs[1]), blocks)) {
      if (!follows[idx(n.inputs[1].node)]) return nullptr;
      all_known = false;
    }
    lifted->known.push_back(blocks);
    lifted->sequences.push_back(variable_handle(graph, n.inputs[0]));
    counts.push_back(n.inputs[1]);
    nodes.push_back(i);
  }
  const auto is_sequence = [&](const Tensor& handle) {
    return std::any_of(lifted->sequences.begin(), lifted->sequences.end(),
                       [&](const Tensor& s) { return s.impl() == handle.impl(); });
  };
  // Nothing but draws may use a sequence.
  for (const Node& n : graph.nodes()) {
    if (n.is_op(kDraw)) continue;
    for (ValueRef v : n.inputs) {
      if (v.defined() && graph.info(v).state && is_sequence(variable_handle(graph, v))) {
        return nullptr;
      }
    }
  }
  if (!all_known) lifted->blocks = part_of(graph, counts);
  std::erase_if(graph.final_states(),
                [&](ValueRef v) { return is_sequence(variable_handle(graph, v)); });

  GraphRewriter r(graph);
  for (int32_t p : graph.parameters()) r.copy(p);
  for (size_t d = 0; d < nodes.size(); ++d) {
    const Node& n = graph.node(nodes[d]);
    for (int32_t k = 0; k < 2; ++k) {
      const ValueInfo& info = n.outputs[idx(k)];
      r.replace({nodes[d], k},
                r.to().add_parameter(info.dtype, info.shape, k ? "counter" : "key"));
    }
  }
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    if (n.kind == Node::Kind::kParameter) continue;
    if (n.is_op(kDraw)) {
      r.drop_order(i);
    } else if (n.kind != Node::Kind::kVariable || !is_sequence(n.constant)) {
      r.copy(i);
    }
  }
  lifted->graph = std::make_shared<const Graph>(r.finish());
  return lifted;
}

bool depends_on_order(const Graph& graph) {
  // Effects that leave the results of other calls alone.
  constexpr std::string_view kHarmless[] = {"Assert", "PrintV2", "ReadFile", "WriteFile",
                                            "MatchingFiles"};
  for (const Node& n : graph.nodes()) {
    if (n.kind == Node::Kind::kOp && (n.op->effects & (kWritesState | kOrdered)) != 0 &&
        std::none_of(std::begin(kHarmless), std::end(kHarmless),
                     [&](std::string_view name) { return n.is_op(name); })) {
      return true;
    }
    for (const GraphPtr& sub : n.subgraphs) {
      if (depends_on_order(*sub)) return true;
    }
  }
  return false;
}

}  // namespace tandem
