// Branches and loops: what is handed over by address must be what the other side expects.
#include <span>

#include "graph/states.h"
#include "plan/plan_checker.h"

namespace tandem {

void PlanChecker::check_subplan(int32_t index, const Graph& declared,
                                const PlannedGraph& sub) {
  const Node& n = g_.node(index);
  const Graph& g = *sub.graph;
  expect(g.parameters().size() == declared.parameters().size() &&
             g.results().size() == declared.results().size(),
         "a branch has other arguments or results");
  const std::span<const ValueRef> operands = operands_of(n);
  expect(operands.size() == g.parameters().size(), "a branch has other arguments");
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].defined()) continue;
    const int32_t own = g.parameters()[i];
    const ValueInfo &a = g.node(own).outputs[0], &b = g_.info(operands[i]);
    expect(a.dtype == b.dtype && a.state == b.state && bytes_of(a) <= bytes_of(b),
           "a branch has other arguments");
    const int32_t space = sub.plan.places[at(own)][0].space;
    if (a.state || space < 0) continue;
    const std::string& wanted = sub.plan.spaces[at(space)].device;
    expect(same_memory(wanted, device_of_operand(i, index, n)),
           "a branch expects an argument on another device");
    if (n.kind == Node::Kind::kWhile && i < at(n.carried)) {
      expect(same_memory(wanted, device_of({index, static_cast<int32_t>(i)})),
             "a loop carries a value from device to device");
    }
  }
  for (size_t k = 0; k < g.results().size(); ++k) {
    const ValueRef a = g.results()[k], b = declared.results()[k];
    expect(a.defined() == b.defined(), "a branch has other results");
    if (!a.defined()) continue;
    expect(g.info(a).dtype == declared.info(b).dtype &&
               g.info(a).state == declared.info(b).state &&
               bytes_of(g.info(a)) == bytes_of(declared.info(b)),
           "a branch has other results");
    const Place& p = sub.plan.places[at(a.node)][at(a.output)];
    if (p.storage != Place::Storage::kResult) continue;
    const std::string& made = sub.plan.spaces[at(p.space)].device;
    const bool condition =
        n.kind == Node::Kind::kWhile && &declared == n.subgraphs[0].get();
    if (condition) {
      expect(same_memory(made, plan_.devices[at(index)]),
             "a loop's condition is on another device");
      continue;
    }
    expect(k < n.outputs.size() &&
               same_memory(made, device_of({index, static_cast<int32_t>(k)})),
           "a branch makes a result on another device");
  }
}

// Constants are where the executor brings them for their reader.
std::string PlanChecker::device_of_operand(size_t i, int32_t index, const Node& n) const {
  const ValueRef v = operands_of(n)[i];
  if (place(v).storage != Place::Storage::kConstant) return device_of(v);
  if (!is_host(plan_.devices[at(index)])) return plan_.devices[at(index)];
  if (n.kind == Node::Kind::kWhile && i < at(n.carried)) {
    return device_of({index, static_cast<int32_t>(i)});
  }
  const std::string& viewed = plan_.devices[at(v.node)];
  return viewed.empty() ? "device:CPU:0" : viewed;
}

}  // namespace tandem
