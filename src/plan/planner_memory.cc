// Planner: a place for every value, and the memory of each device.
#include <algorithm>
#include <set>

#include "device/runtime.h"
#include "graph/states.h"
#include "plan/inplace.h"
#include "plan/memory.h"
#include "plan/planner.h"
#include "tandem/device.h"
#include "tensor/variable_impl.h"

namespace tandem {

int32_t Planner::space(Device& device) {
  for (size_t i = 0; i < plan_.spaces.size(); ++i) {
    if (plan_.spaces[i].device == device.full_name()) return static_cast<int32_t>(i);
  }
  PlanSpace made;
  made.device = device.full_name();
  plan_.spaces.push_back(std::move(made));
  return static_cast<int32_t>(plan_.spaces.size() - 1);
}

void Planner::place_values() {
  plan_.places.resize(graph_.nodes().size());
  for (int32_t i = 0; i < graph_.size(); ++i) {
    plan_.places[index(i)].resize(graph_.node(i).outputs.size());
  }
  int32_t parameter = 0;
  for (int32_t p : graph_.parameters()) {
    if (!graph_.node(p).outputs[0].state) {
      set_place({p, 0}, Place::Storage::kParameter, parameter);
    }
    ++parameter;
  }
  for (int32_t i = 0; i < graph_.size(); ++i) {
    const Node& n = graph_.node(i);
    if (n.kind == Node::Kind::kConstant) set_place({i, 0}, Place::Storage::kConstant, i);
    if (n.is_op("ReadVariableOp")) {
      set_place({i, 0}, Place::Storage::kVariable, variable(n.inputs[0]));
    }
    if (order_.assign_in_place[index(i)]) {
      set_place(n.inputs[1], Place::Storage::kVariable, variable(n.inputs[0]));
    }
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      if (n.outputs[index(o)].dtype == DType::kVariant && is_step_[index(i)]) {
        set_place({i, o}, Place::Storage::kHandle, plan_.num_handles++);
      }
    }
  }
  for (size_t k = 0; k < graph_.results().size(); ++k) {
    const ValueRef v = graph_.results()[k];
    if (!v.defined() || graph_.info(v).state) continue;
    Place& p = place(root_of(v).value);
    if (p.storage != Place::Storage::kNone) continue;
    set_place(root_of(v).value, Place::Storage::kResult, static_cast<int32_t>(k));
  }
  for (int32_t i = 0; i < graph_.size(); ++i) {
    if (!is_step_[index(i)]) continue;
    const Node& n = graph_.node(i);
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      if (n.outputs[index(o)].state) continue;
      Place& p = place({i, o});
      if (p.storage == Place::Storage::kNone) {
        set_place({i, o}, Place::Storage::kArena, -1);
      }
    }
  }
  // A step may have nothing but constants and variables, and wants its constants there.
  for (int32_t i = 0; i < graph_.size(); ++i) {
    Device* const device = assignment_.devices[index(i)];
    if (is_step_[index(i)] && device) space(*device);
  }
  for (int32_t i = 0; i < graph_.size(); ++i) {
    if (view_[index(i)] < 0 || graph_.node(i).is_op("ReadVariableOp")) continue;
    const Root r = root_of({i, 0});
    if (graph_.info(r.value).state) {
      place({i, 0}) = {Place::Storage::kVariable, variable(r.value), -1, r.offset,
                       bytes_of({i, 0})};
    }
  }
}

void Planner::set_place(ValueRef v, Place::Storage storage, int32_t number) {
  Place& p = place(v);
  p.storage = storage;
  p.index = number;
  p.bytes = bytes_of(v);
  Device* d = assignment_.of(v);
  if (d) p.space = space(*d);
}

int32_t Planner::variable(ValueRef state) {
  Tensor handle = variable_handle(graph_, state);
  for (size_t i = 0; i < plan_variables_.size(); ++i) {
    if (plan_variables_[i].impl()->variable == handle.impl()->variable) {
      return static_cast<int32_t>(i);
    }
  }
  plan_variables_.push_back(handle);
  return static_cast<int32_t>(plan_variables_.size() - 1);
}

void Planner::plan_spaces() {
  // Views end here: where their root is, plus the offset.
  std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> uses;
  for (size_t k = 0; k < plan_.steps.size(); ++k) {
    for (ValueRef v : graph_.node(plan_.steps[k].node).inputs) {
      if (!v.defined() || graph_.info(v).state) continue;
      const Root r = root_of(v);
      uses[{r.value.node, r.value.output}].push_back(static_cast<int32_t>(k));
    }
  }
  for (size_t s = 0; s < plan_.spaces.size(); ++s) plan_space(s, uses);
  for (int32_t i = 0; i < graph_.size(); ++i) {
    if (view_[index(i)] < 0) continue;
    const Root r = root_of({i, 0});
    if (graph_.info(r.value).state) continue;
    Place p = place(r.value);
    p.offset += r.offset;
    p.bytes = bytes_of({i, 0});
    place({i, 0}) = p;
  }
}

void Planner::plan_space(
    size_t s, const std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>>& uses) {
  PlanSpace& target = plan_.spaces[s];
  MemoryProblem problem;
  problem.share = options_.share_memory;
  problem.clock = clock_;
  problem.position = position_;
  for (const PlanStep& step : plan_.steps) problem.lane_of_step.push_back(step.lane);
  std::vector<ValueRef> values;
  std::map<std::pair<int32_t, int32_t>, int32_t> buffer_of;
  for (const PlanStep& step : plan_.steps) {
    const Node& n = graph_.node(step.node);
    std::vector<std::vector<int32_t>> may_replace(n.outputs.size());
    if (options_.inplace) may_replace = replaceable(step.node, buffer_of);
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      const ValueRef v{step.node, o};
      const Place& p = place(v);
      if (p.space != static_cast<int32_t>(s)) continue;
      if (p.storage == Place::Storage::kResult) target.result_bytes += p.bytes;
      if (p.storage != Place::Storage::kArena) continue;
      MemoryBuffer b;
      b.bytes = p.bytes;
      b.defined = step_of_[index(step.node)];
      const auto found = uses.find({step.node, o});
      if (found != uses.end()) b.uses = found->second;
      b.may_replace = std::move(may_replace[index(o)]);
      buffer_of[{step.node, o}] = static_cast<int32_t>(values.size());
      problem.buffers.push_back(std::move(b));
      values.push_back(v);
      target.unshared_bytes += p.bytes;
    }
  }
  for (const std::vector<ValueRef>& strip : strips_) {
    if (place(strip[0]).space != static_cast<int32_t>(s)) continue;
    auto& buffers = problem.strips.emplace_back();
    for (ValueRef v : strip) buffers.push_back(buffer_of.at({v.node, v.output}));
  }
  const size_t first_workspace = problem.buffers.size();
  std::vector<size_t> workspace_of;
  for (size_t w = 0; w < workspaces_.size(); ++w) {
    const PlanStep& step = plan_.steps[index(workspace_step_[w])];
    Device& device = *assignment_.devices[index(step.node)];
    if (!workspaces_[w] || space(device) != static_cast<int32_t>(s)) continue;
    MemoryBuffer b;
    b.bytes = workspaces_[w];
    b.defined = workspace_step_[w];
    problem.buffers.push_back(std::move(b));
    workspace_of.push_back(w);
    target.unshared_bytes += workspaces_[w];
  }
  Device& device = Runtime::get().named(target.device);
  target.constant_bytes = device.is_host() ? 0 : constant_bytes(device);
  for (const Tensor& handle : plan_variables_) {
    const VariableImpl& v = variable_of(handle);
    if (v.device == &device && v.shape.is_known()) {
      target.variable_bytes += checked_bytes(v.dtype, v.shape);
    }
  }
  // What is left for the arena beside everything else that the call needs there.
  const int64_t limit = device.allocator().info().limit;
  const int64_t beside =
      target.constant_bytes + target.result_bytes + target.variable_bytes;
  problem.limit = limit ? std::max<int64_t>(limit - beside, 1) : 0;
  const MemoryPlan memory = plan_memory(problem);
  target.bytes = memory.bytes;
  target.strip_bytes = memory.strip_bytes;
  for (size_t i = 0; i < values.size(); ++i) {
    place(values[i]).index = static_cast<int32_t>(s);
    place(values[i]).offset = memory.offsets[i];
  }
  for (size_t i = 0; i < workspace_of.size(); ++i) {
    plan_.steps[index(workspace_step_[workspace_of[i]])].workspace =
        memory.offsets[first_workspace + i];
  }
  const int64_t over = limit ? memory.bytes + beside - limit : 0;
  if (over > plan_.over_limit) {
    plan_.over_limit = over;
    plan_.over_device = target.device;
  }
}

// Constants that steps of a device read are kept there, once each.
int64_t Planner::constant_bytes(const Device& device) const {
  std::set<int32_t> seen;
  int64_t sum = 0;
  for (const PlanStep& step : plan_.steps) {
    const Node& n = graph_.node(step.node);
    if (step.kernel.empty() || assignment_.devices[index(step.node)] != &device) continue;
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const InputDef& def = n.op->input_def(static_cast<int>(k));
      if (!n.inputs[k].defined() || def.host || def.shape_only) continue;
      const ValueRef v = root_of(n.inputs[k]).value;
      if (graph_.node(v.node).kind != Node::Kind::kConstant) continue;
      if (seen.insert(v.node).second) sum += bytes_of(v);
    }
  }
  return sum;
}

std::vector<std::vector<int32_t>> Planner::replaceable(
    int32_t node, const std::map<std::pair<int32_t, int32_t>, int32_t>& buffer_of) const {
  const Node& n = graph_.node(node);
  std::vector<std::vector<int32_t>> lists(n.outputs.size());
  std::vector<Root> roots;
  for (ValueRef v : n.inputs) roots.push_back(v.defined() ? root_of(v) : Root{});
  // Inputs by the memory they read, memory that may be taken over only.
  std::map<int32_t, std::vector<size_t>> readers;
  for (size_t k = 0; k < roots.size(); ++k) {
    if (!roots[k].value.defined()) continue;
    const auto found = buffer_of.find({roots[k].value.node, roots[k].value.output});
    if (found != buffer_of.end()) readers[found->second].push_back(k);
  }
  if (readers.empty()) return lists;
  const InPlace inplace(graph_, n, assignment_.devices[index(node)]);
  // A loop that its device runs computes in the memory of its results.
  const bool loop =
      n.kind == Node::Kind::kWhile && !assignment_.devices[index(node)]->is_host();
  const auto may_share = [&](size_t input, int32_t output) {
    return loop ? input == index(output) : inplace.may_share(input, output);
  };
  for (int32_t o = 0; o < static_cast<int32_t>(lists.size()); ++o) {
    for (size_t k = 0; k < roots.size(); ++k) {
      if (!roots[k].value.defined() || roots[k].offset) continue;
      const auto found = buffer_of.find({roots[k].value.node, roots[k].value.output});
      if (found == buffer_of.end() || !may_share(k, o)) continue;
      // Every way in which the node reads that memory must allow it.
      const std::vector<size_t>& all = readers.at(found->second);
      if (std::all_of(all.begin(), all.end(),
                      [&](size_t j) { return may_share(j, o); })) {
        lists[index(o)].push_back(found->second);
      }
    }
  }
  return lists;
}

}  // namespace tandem
