// Planner: which arguments and results of a device need no memory of the plan. A copy
// that is not made is a view of what it would have copied.
#include <algorithm>
#include <set>

#include "device/operand_address.h"
#include "op/fixed_addresses.h"
#include "op/uncaptured.h"
#include "plan/operands.h"
#include "plan/planner.h"

namespace tandem {

namespace {
bool not_read(const Node& n, size_t input) {
  if (!n.op) return false;
  const InputDef& def = n.op->input_def(static_cast<int>(input));
  return def.shape_only || def.host;
}
}  // namespace

// By value behind views: the nodes that read it or, of what is assigned in place, are it.
void Planner::find_readers() {
  for (int32_t i = 0; i < graph_.size(); ++i) {
    if (view_[index(i)] >= 0) continue;
    const Node& n = graph_.node(i);
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const ValueRef v = n.inputs[k];
      if (!v.defined() || graph_.info(v).state || (is_step_[index(i)] && not_read(n, k)))
        continue;
      const Root r = root_of(v);
      auto& list = readers_[{r.value.node, r.value.output}];
      if (list.empty() || list.back() != i) list.push_back(i);
    }
  }
}

// What keeps a node from reaching memory of the caller on `device`; empty: nothing does.
std::string Planner::refuses_operands(int32_t i, const Device& device,
                                      const PlannedGraph& made) const {
  const Node& n = graph_.node(i);
  if (!is_step_[index(i)]) return "assigned to a variable";
  if (n.has_subgraphs()) return "control flow keeps addresses";
  const Kernel* const kernel = made.prepared[index(step_of_[index(i)])].kernel;
  if (!kernel || assignment_.devices[index(i)] != &device)
    return "reached by others than kernels";
  if (has_fixed_addresses(*kernel) && !is_uncaptured(*kernel)) {
    return kernel->id + " keeps addresses";
  }
  return "";
}

Binding Planner::bind_operand(const Operand& operand, const PlannedGraph& made) const {
  int64_t kernels = 0;
  const auto found = readers_.find({operand.value.node, operand.value.output});
  std::vector<int32_t> nodes =
      found == readers_.end() ? std::vector<int32_t>{} : found->second;
  std::erase(nodes, operand.copy);
  if (operand.result) nodes.push_back(operand.value.node);
  const bool native = operand.device->platform() != kHostPlatform;
  Binding binding = choose_binding(bytes_of(operand.value), 1, native);
  for (int32_t i : nodes) {
    if (!binding.in_place) return binding;
    const Node& n = graph_.node(i);
    const bool within =
        n.kind == Node::Kind::kCopy && is_step_[index(i)] &&
        plan_.lanes[index(plan_.steps[index(step_of_[index(i)])].lane)].kind ==
            PlanLane::Kind::kCompute;
    // A copy reads memory of the caller as it always has. To another device only that of
    // arguments, which are kept until every lane is done.
    if (n.kind == Node::Kind::kCopy && is_step_[index(i)] && (within || !operand.result))
      continue;
    ++kernels;
    const std::string why = refuses_operands(i, *operand.device, made);
    if (!why.empty()) return {false, why};
  }
  return choose_binding(bytes_of(operand.value), std::max<int64_t>(kernels, 1), native);
}

// The argument that a copy is of, or the result that it is.
std::optional<Planner::Operand> Planner::operand_of(int32_t copy) const {
  const Node& n = graph_.node(copy);
  Device* const device = assignment_.devices[index(copy)];
  if (n.kind != Node::Kind::kCopy || device->is_host() ||
      device != assignment_.of(n.inputs[0]))
    return std::nullopt;
  const Root r = root_of(n.inputs[0]);
  const Node& producer = graph_.node(r.value.node);
  if (producer.kind == Node::Kind::kParameter &&
      assignment_.reasons[index(copy)] == "copy")
    return Operand{{copy, 0}, copy, false, device};
  if (assignment_.reasons[index(copy)] != "result") return std::nullopt;
  const bool whole = r.offset == 0 && bytes_of(r.value) == bytes_of({copy, 0});
  if (producer.kind != Node::Kind::kOp || !whole || graph_.info(r.value).state) {
    return std::nullopt;
  }
  return Operand{r.value, copy, true, device};
}

void Planner::bind_operands(PlannedGraph& made) {
  if (nested_ || options_.inside) return;
  find_readers();
  std::set<std::pair<int32_t, int32_t>> claimed;
  int32_t bound = 0;
  for (const PlanStep& step : plan_.steps) {
    const auto operand = operand_of(step.node);
    if (!operand) continue;
    std::string& reason = assignment_.reasons[index(step.node)];
    const std::pair key{operand->value.node, operand->value.output};
    Binding binding = claimed.contains(key) ? Binding{false, "given out twice"}
                                            : bind_operand(*operand, made);
    if (binding.in_place && bound == operand_address::kMostOperands) {
      binding = {false, "too many in place"};
    }
    if (!binding.in_place) {
      reason += ": " + binding.why;
      continue;
    }
    reason = (operand->result ? "result, " : "argument, ") + binding.why;
    ++bound;
    claimed.insert(key);
    view_[index(step.node)] = 0;
    is_step_[index(step.node)] = 0;
  }
  if (bound) drop_steps(made);
}

// Steps that are none any more.
void Planner::drop_steps(PlannedGraph& made) {
  std::vector<int32_t> fresh(plan_.steps.size(), -1);
  size_t kept = 0;
  for (size_t k = 0; k < plan_.steps.size(); ++k) {
    const int32_t node = plan_.steps[k].node;
    step_of_[index(node)] = is_step_[index(node)] ? static_cast<int32_t>(kept) : -1;
    if (!is_step_[index(node)]) continue;
    fresh[k] = static_cast<int32_t>(kept);
    if (kept != k) {
      plan_.steps[kept] = std::move(plan_.steps[k]);
      made.prepared[kept] = std::move(made.prepared[k]);
    }
    ++kept;
  }
  plan_.steps.resize(kept);
  made.prepared.resize(kept);
  for (int32_t& step : workspace_step_) step = fresh[index(step)];
  std::erase_if(order_.nodes, [&](int32_t i) { return !is_step_[index(i)]; });
}

}  // namespace tandem
