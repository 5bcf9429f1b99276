// Producer-consumer fusion. A kernel over memory costs what it reads and writes;
// computing a few more values on the way costs nothing beside it. So a node joins the
// cluster of a node that makes one of its arguments whenever both can be one program: the
// argument is then not read again, and not even written when nobody else wants it. Row
// reductions whose results are spread over the same rows again (softmax, normalisations)
// read their input from a cache the second time; reductions of columns and of everything
// end a program.
//
// What is not done: joining what shares only inputs, column sums excepted (it saves a
// read, but ties unrelated work together), and joining single numbers that many wide
// kernels read (each of them would become different from the others, see
// fuse_horizontal.cc).
#include <algorithm>

#include <fmt/format.h>

#include "graph/passes/cluster_dag.h"
#include "graph/passes/fusion_copies.h"
#include "graph/passes/fusion_layout.h"
#include "graph/passes/fusion_rewrite.h"
#include "graph/passes/fusion_sums.h"

namespace tandem {

namespace {

class Clusters {
 public:
  Clusters(const FusionGraph& graph, FusionPlanner& planner)
      : graph_(graph), planner_(planner), dag_(graph.before(), graph.after()) {}

  void grow() {
    for (int32_t node = 0; node < graph_.graph().size(); ++node) {
      const FusionOp* op = planner_.op(node);
      if (!op) continue;
      for (const FusionOperand& o : op->operands) {
        const int32_t maker = graph_.source(o.root).node;
        if (planner_.op(maker) && worth_joining(maker, *op)) try_join(maker, node);
      }
    }
    for (int32_t node = 0; node < graph_.graph().size(); ++node) {
      if (sums_columns(node)) join_siblings(node);
    }
  }

  bool is_alone(int32_t node) { return dag_.members(dag_.find(node)).size() == 1; }
  std::vector<int32_t> by_node() {
    std::vector<int32_t> result;
    for (int32_t i = 0; i < graph_.graph().size(); ++i) result.push_back(dag_.find(i));
    return result;
  }

  // Clusters of more than one node.
  std::vector<std::vector<int32_t>> take() {
    std::vector<std::vector<int32_t>> result;
    for (int32_t node = 0; node < graph_.graph().size(); ++node) {
      if (dag_.find(node) != node) continue;
      if (dag_.members(node).size() > 1) result.push_back(dag_.members(node));
    }
    return result;
  }

 private:
  bool sums_columns(int32_t node) const {
    const FusionOp* op = planner_.op(node);
    return op && op->reduction && op->axes.kind == ReducedAxes::Kind::kLeading;
  }
  // Column sums of one large tensor (gradients of scale and offset) read it once.
  void join_siblings(int32_t node) {
    for (int32_t user : graph_.users(planner_.op(node)->operands[0].value)) {
      if (user == node || !planner_.op(user)) continue;
      const std::vector<int32_t>& members = dag_.members(dag_.find(user));
      if (std::any_of(members.begin(), members.end(),
                      [&](int32_t m) { return sums_columns(m); })) {
        try_join(node, user);
      }
    }
  }

  // A single number that somebody spreads over a wide kernel stays in a kernel of
  // numbers.
  bool worth_joining(int32_t maker, const FusionOp& user) {
    const FusionOp& op = *planner_.op(maker);
    if (op.elements > 1 || user.elements > 1) return true;
    return !spread({maker, 0});
  }
  bool spread(ValueRef v) const {
    for (int32_t user : graph_.users(v)) {
      if (graph_.is_free(user)) {
        if (graph_.role(user) != FusionGraph::Role::kView || spread({user, 0}))
          return true;
      } else if (const FusionOp* op = planner_.op(user); op && op->elements > 1) {
        return true;
      }
    }
    return false;
  }

  void try_join(int32_t a, int32_t b) {
    const int32_t ca = dag_.find(a), cb = dag_.find(b);
    if (ca == cb) return;
    const Graph& g = graph_.graph();
    if (g.node(a).device != g.node(b).device) return;
    std::vector<int32_t> both(dag_.members(ca).size() + dag_.members(cb).size());
    std::merge(dag_.members(ca).begin(), dag_.members(ca).end(), dag_.members(cb).begin(),
               dag_.members(cb).end(), both.begin());
    if (planner_.layout(both)) dag_.join(ca, cb);
  }

  const FusionGraph& graph_;
  FusionPlanner& planner_;
  ClusterDag dag_;
};

// A graph, looked at and clustered.
struct Attempt {
  FusionGraph fusion;
  FusionPlanner planner;
  Clusters clusters;

  Attempt(const Graph& graph, const FusionTarget& target)
      : fusion(graph), planner(fusion, target), clusters(fusion, planner) {
    clusters.grow();
  }
};

// "fused/Mul_AddV2_Relu(3 ops)"
std::string fused_name(const FusedProgram& p) {
  std::string name = "fused/";
  const size_t n = p.instructions.size(), shown = std::min<size_t>(n, 4);
  for (size_t i = 0; i < shown; ++i) {
    name += fmt::format("{}{}", i ? "_" : "", p.instructions[i].op);
  }
  return fmt::format("{}{}({} ops)", name, n > shown ? "_etc" : "", n);
}

std::string fused_note(const FusedProgram& p, const FusionLayout& layout) {
  std::string ops;
  for (const FusedInstruction& i : p.instructions) {
    ops += (ops.empty() ? "" : ", ") + i.op;
  }
  return fmt::format("{} ops over {}{} in one pass, {} tensors in, {} out: {}",
                     p.instructions.size(), dtype_name(p.dtype(p.num_values() - 1)),
                     layout.domain.debug_str(), layout.inputs.size(),
                     layout.outputs.size(), ops);
}

FusionReplacement fused_replacement(FusionPlanner& planner, std::vector<int32_t> members,
                                    const FusionLayout& layout) {
  const Graph& graph = planner.graph().graph();
  const FusedProgram program = planner.program(members, layout);
  FusionReplacement r;
  for (const auto& in : layout.inputs) r.inputs.push_back({in.value, in.shape});
  for (const auto& out : layout.outputs) {
    const ValueRef v{out.node, 0};
    r.outputs.push_back({{v}, graph.info(v).dtype, out.shape});
  }
  r.op = &OpTable::get().at("Fused");
  r.attrs = Attrs(attrs_ref(FusedAttrs{.program = program.text()}));
  r.name = fused_name(program);
  r.note = fused_note(program, layout);
  r.members = std::move(members);
  return r;
}

}  // namespace

Graph fuse_elementwise(const Graph& graph, const FusionTarget& target,
                       FusionNotes* notes) {
  const Graph* from = &graph;
  std::optional<Graph> lowered, summed;
  if (target.can_reduce && target.can_reduce("Min", DType::kInt32)) {
    lowered = lower_all(*from);
    if (lowered) from = &*lowered;
  }
  summed = gather_sums(*from);
  if (summed) from = &*summed;
  Attempt first(*from, target);
  Attempt* best = &first;
  // Copies are worth having only when each becomes part of the kernel that reads it.
  std::optional<Attempt> second;
  const auto copied = copy_cheap_ops(first.planner, first.clusters.by_node());
  if (copied) {
    second.emplace(copied->graph, target);
    const bool all =
        std::none_of(copied->copies.begin(), copied->copies.end(),
                     [&](int32_t c) { return second->clusters.is_alone(c); });
    if (all) best = &*second;
  }
  std::vector<FusionReplacement> replacements;
  for (std::vector<int32_t>& members : best->clusters.take()) {
    const std::optional<FusionLayout> layout = best->planner.layout(members);
    replacements.push_back(fused_replacement(best->planner, std::move(members), *layout));
  }
  return rewrite_fused(
      best->fusion, replacements,
      [&](const Graph& g) { return fuse_elementwise(g, target, notes); }, notes);
}

}  // namespace tandem
