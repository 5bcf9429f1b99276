// Control flow that is decided: an If or Case whose branch is known becomes that branch,
// a loop that turns zero times gives what it was given, and an output that every branch
// takes unchanged from one operand is that operand.
//
// A branch that leaves out a result which somebody still takes stays where it is: those
// who take it belong to branches that are not taken either, and go first.
#include "graph/passes/common.h"
#include "graph/passes/passes.h"
#include "graph/states.h"
#include "tandem/error.h"

namespace tandem {

namespace {

bool known_value(const ValueInfo& info, int64_t* value) {
  if (info.has_value && info.value.size() == 1 && info.value[0] != kUnknownValue) {
    *value = info.value[0];
    return true;
  }
  if (!info.data || info.shape.num_elements() != 1) return false;
  if (info.dtype == DType::kBool) {
    *value = *static_cast<const bool*>(info.data);
    return true;
  }
  if (!is_integer(info.dtype)) return false;
  *value = read_ints(info.dtype, info.data, 1)[0];
  return true;
}

// The branch that is taken, or null.
const Graph* taken_branch(const Node& n, const ValueInfo& chooser,
                          const std::vector<GraphPtr>& branches) {
  int64_t value = 0;
  if (!known_value(chooser, &value)) return nullptr;
  if (n.kind == Node::Kind::kIf) return branches[value ? 0 : 1].get();
  const auto count = static_cast<int64_t>(branches.size());
  return branches[static_cast<size_t>(value < 0 || value >= count ? count - 1 : value)]
      .get();
}

bool makes_all(const Graph& branch, const std::vector<int32_t>& uses) {
  for (size_t k = 0; k < uses.size(); ++k) {
    if (uses[k] > 0 && !branch.results()[k].defined()) return false;
  }
  return true;
}

// Whether the condition is false for the values with which the loop begins.
bool never_turns(const Graph& graph, const Node& n,
                 const std::vector<ValueRef>& operands) {
  if (n.max_iterations == 0) return true;
  std::vector<TensorInfo> infos;
  for (ValueRef v : operands) infos.push_back(graph.info(v));
  int64_t value = 1;
  const Graph& condition = *n.subgraphs[0];
  if (known_value(condition.info(condition.results()[0]), &value) && !value) return true;
  try {
    const Graph first = specialize(condition, infos);
    return known_value(first.info(first.results()[0]), &value) && !value;
  } catch (const Error&) {
    return false;  // an error of the condition comes at the call
  }
}

// The operand that every branch gives as result `k`; -1: they differ.
int32_t passed_through(const std::vector<GraphPtr>& branches, size_t k) {
  int32_t operand = -1;
  for (const GraphPtr& g : branches) {
    const ValueRef v = g->results()[k];
    if (!v.defined()) continue;
    int32_t found = -1;
    for (size_t p = 0; p < g->parameters().size(); ++p) {
      if (g->parameters()[p] == v.node) found = static_cast<int32_t>(p);
    }
    if (found < 0 || (operand >= 0 && operand != found)) return -1;
    operand = found;
  }
  return operand;
}

}  // namespace

Graph remove_dead_branches(const Graph& graph) {
  GraphRewriter rewriter(graph);
  const std::vector<std::vector<int32_t>> uses = count_uses(graph);
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    std::vector<GraphPtr> subgraphs = rewrite_subgraphs(n, remove_dead_branches);
    const std::vector<ValueRef> inputs = rewriter.map(n.inputs);
    if (n.kind == Node::Kind::kIf || n.kind == Node::Kind::kCase) {
      const std::span<const ValueRef> operands = std::span(inputs).subspan(1);
      const Graph* branch = taken_branch(n, rewriter.to().info(inputs[0]), subgraphs);
      if (branch && makes_all(*branch, uses[static_cast<size_t>(i)])) {
        splice_for(rewriter, i, *branch, operands);
        continue;
      }
      rewriter.copy(i, subgraphs);
      for (size_t k = 0; k < n.outputs.size(); ++k) {
        const int32_t operand = passed_through(subgraphs, k);
        if (operand < 0) continue;
        rewriter.replace({i, static_cast<int32_t>(k)},
                         operands[static_cast<size_t>(operand)]);
      }
      continue;
    }
    if (n.kind == Node::Kind::kWhile && never_turns(rewriter.to(), n, inputs)) {
      for (int32_t k = 0; k < n.carried; ++k) {
        rewriter.replace({i, k}, inputs[static_cast<size_t>(k)]);
      }
      rewriter.drop_order(i);
      continue;
    }
    rewriter.copy(i, std::move(subgraphs));
  }
  return rewriter.finish();
}

}  // namespace tandem
