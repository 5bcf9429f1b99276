// Planner: values that are to lie end to end. A kernel over many groups (an optimizer's
// step over all variables) is one loop where every operand of a group begins where that
// of the group before ends. Variables and their slots lie so in arenas; gradients, and
// whatever else the kernel reads or writes, is given to the memory planner as strips.
#include <algorithm>

#include "op/fused_program.h"
#include "plan/memory.h"
#include "plan/planner.h"

namespace tandem {

namespace {

using Storage = Place::Storage;

bool elementwise(const FusedAttrs& attrs) {
  const FusedProgram program = FusedProgram::parse(attrs.program);
  return std::all_of(program.instructions.begin(), program.instructions.end(),
                     [](const FusedInstruction& i) {
                       return i.kind == FusedInstruction::Kind::kElementwise;
                     });
}

}  // namespace

// Whether `b` can be placed directly behind `a`, or is where it has been for long.
bool Planner::may_follow(ValueRef a, ValueRef b) const {
  const Root x = root_of(a), y = root_of(b);
  if (x.value == y.value || x.offset || y.offset) return false;
  const int64_t bytes = bytes_of(a);
  if (bytes == 0 || bytes % kBufferAlignment || bytes != bytes_of(x.value) ||
      bytes_of(b) != bytes_of(y.value)) {
    return false;
  }
  // What is read of a variable is a view of its state.
  const bool state = graph_.info(x.value).state;
  if (state || graph_.info(y.value).state) {
    return state && graph_.info(y.value).state;
  }
  const Place& p = plan_.places[index(x.value.node)][index(x.value.output)];
  const Place& q = plan_.places[index(y.value.node)][index(y.value.output)];
  if (p.storage != q.storage || p.space != q.space) return false;
  return p.storage == Storage::kVariable || p.storage == Storage::kArena ||
         (p.storage == Storage::kParameter && nested_);
}

// Of what may lie so, what this plan can place, and what is up to the plan around it.
void Planner::add_strip(const std::vector<ValueRef>& values) {
  std::vector<ValueRef> own;
  std::vector<int32_t> parameters;
  for (ValueRef v : values) {
    const Root r = root_of(v);
    if (graph_.info(r.value).state) return;
    const Place& p = place(r.value);
    if (p.storage == Storage::kArena) own.push_back(r.value);
    if (p.storage == Storage::kParameter) parameters.push_back(p.index);
  }
  if (own.size() > 1) strips_.push_back(std::move(own));
  if (parameters.size() > 1) parameter_strips_.push_back(std::move(parameters));
}

void Planner::find_strips_of_groups(int32_t i) {
  const Node& n = graph_.node(i);
  const auto& attrs = n.attrs.ref().as<FusedAttrs>();
  if (!elementwise(attrs)) return;
  const auto groups = static_cast<size_t>(attrs.groups);
  const size_t inputs = n.inputs.size() / groups, outputs = n.outputs.size() / groups;
  const auto operand = [&](size_t group, size_t k) {
    return k < inputs ? n.inputs[group * inputs + k]
                      : ValueRef{i, static_cast<int32_t>(group * outputs + k - inputs)};
  };
  const auto count = [&](ValueRef v) { return graph_.info(v).shape.num_elements(); };
  const auto elements = [&](size_t group) {
    int64_t most = 0;
    for (size_t k = 0; k < inputs + outputs; ++k) {
      most = std::max(most, count(operand(group, k)));
    }
    return most;
  };
  const auto joins = [&](size_t group) {
    const int64_t here = elements(group), next = elements(group + 1);
    for (size_t k = 0; k < inputs + outputs; ++k) {
      const ValueRef a = operand(group, k), b = operand(group + 1, k);
      const bool full = count(a) == here && count(b) == next;
      const Root x = root_of(a), y = root_of(b);
      const bool single = count(a) == 1 && x.value == y.value && x.offset == y.offset;
      if (!single && !(full && may_follow(a, b))) return false;
    }
    return true;
  };
  for (size_t begin = 0, end = 0; begin < groups; begin = end) {
    for (end = begin + 1; end < groups && joins(end - 1);) ++end;
    if (end - begin < 2) continue;
    for (size_t k = 0; k < inputs + outputs; ++k) {
      std::vector<ValueRef> values;
      for (size_t g = begin; g < end; ++g) values.push_back(operand(g, k));
      if (root_of(values[0]).value != root_of(values[1]).value) add_strip(values);
    }
  }
}

// What kernels in a branch wish for their parameters, as operands of the node. A loop
// copies what it carries.
void Planner::find_strips_of_children(int32_t i, const PlannedGraph& made) {
  const Node& n = graph_.node(i);
  const bool chooses = n.kind == Node::Kind::kIf || n.kind == Node::Kind::kCase;
  for (const auto& child : made.subplans[index(i)]) {
    for (const std::vector<int32_t>& strip : child->parameter_strips) {
      std::vector<ValueRef> values;
      const auto close = [&] {
        if (values.size() > 1) add_strip(values);
        values.clear();
      };
      for (int32_t p : strip) {
        if (n.kind == Node::Kind::kWhile && p < n.carried) continue;
        const ValueRef v = n.inputs[index(p) + (chooses ? 1 : 0)];
        if (!values.empty() && !may_follow(values.back(), v)) close();
        values.push_back(v);
      }
      close();
    }
  }
}

void Planner::find_strips(const PlannedGraph& made) {
  for (const PlanStep& step : plan_.steps) {
    const Node& n = graph_.node(step.node);
    if (n.is_op("FusedMulti")) find_strips_of_groups(step.node);
    if (n.has_subgraphs()) find_strips_of_children(step.node, made);
  }
}

}  // namespace tandem
