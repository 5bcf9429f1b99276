#include "plan/check_plan.h"

#include <fmt/format.h>

#include "plan/plan_checker.h"
#include "tandem/error.h"

namespace tandem {

void PlanChecker::expect(bool good, const char* what) {
  if (good) return;
  throw DataLossError(fmt::format(
      "plan: {}. It is damaged, or one of another graph; plan the function again.",
      what));
}

bool PlanChecker::is_host(const std::string& device) {
  return device.find("device:CPU") != std::string::npos;
}

bool PlanChecker::same_memory(const std::string& a, const std::string& b) {
  return a == b || (is_host(a) && is_host(b));
}

int64_t PlanChecker::bytes_of(const ValueInfo& info) {
  if (info.state || info.dtype == DType::kVariant || info.dtype == DType::kInvalid) {
    return 0;
  }
  expect(info.shape.is_known(), "the shape of a value is not known");
  return checked_bytes(info.dtype, info.shape);
}

void PlanChecker::run() {
  const size_t nodes = g_.nodes().size();
  expect(plan_.places.size() == nodes && plan_.devices.size() == nodes &&
             plan_.reasons.size() == nodes && p_.subplans.size() == nodes,
         "it has another number of nodes than its graph");
  size_t values = 0;
  for (const Node& n : g_.nodes()) values += n.outputs.size();
  expect(plan_.num_handles >= 0 && at(plan_.num_handles) <= values,
         "it has more lists than values");
  for (const PlanSpace& s : plan_.spaces) {
    for (const int64_t bytes : {s.bytes, s.constant_bytes, s.result_bytes,
                                s.variable_bytes, s.unshared_bytes, s.strip_bytes}) {
      expect(bytes >= 0 && bytes <= kMostBytes, "a device's memory has no size");
    }
  }
  // All of them before the first is looked at: places refer to those of other nodes.
  for (int32_t i = 0; i < g_.size(); ++i) {
    expect(plan_.places[at(i)].size() == g_.node(i).outputs.size(),
           "a node has another number of results");
  }
  for (int32_t i = 0; i < g_.size(); ++i) check_node(i);
  for (const ValueRef v : g_.results()) check_result(v);
  is_step_.assign(nodes, 0);
  for (const PlanStep& s : plan_.steps) {
    expect_index(s.node, g_.nodes(), "a step has no node");
    is_step_[at(s.node)] = 1;
  }
  step_of_.assign(nodes, -1);
  for (size_t k = 0; k < plan_.steps.size(); ++k) check_step(static_cast<int32_t>(k));
  for (const std::vector<int32_t>& strip : p_.parameter_strips) {
    for (int32_t number : strip) {
      expect_index(number, g_.parameters(), "a strip names no parameter");
    }
  }
}

void PlanChecker::check_node(int32_t i) {
  const Node& n = g_.node(i);
  for (size_t o = 0; o < n.outputs.size(); ++o) {
    check_place(plan_.places[at(i)][o], n.outputs[o]);
  }
  const auto& subplans = p_.subplans[at(i)];
  expect(subplans.empty() || subplans.size() == n.subgraphs.size(),
         "a branch has no plan");
  for (size_t s = 0; s < subplans.size(); ++s) {
    check_subplan(i, *n.subgraphs[s], *subplans[s]);
  }
}

void check_plan(const PlannedGraph& planned) { PlanChecker(planned).run(); }

}  // namespace tandem
