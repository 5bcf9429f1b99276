// The steps: those of the graph, in an order in which they can run, on lanes that reach
// what they touch.
#include "graph/states.h"
#include "op/host_function.h"
#include "plan/memory.h"
#include "plan/plan_checker.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {
constexpr int32_t kMostThreads = 4096;
}  // namespace

void PlanChecker::check_step(int32_t k) {
  const PlanStep& s = plan_.steps[at(k)];
  expect_index(s.lane, plan_.lanes, "a step has no lane");
  for (int32_t w : s.waits) expect(w >= 0 && w < k, "a step waits for a later one");
  expect(s.threads >= 1 && s.threads <= kMostThreads, "a step has no threads");
  expect(s.workspace == -1 || (s.workspace >= 0 && s.workspace <= kMostBytes &&
                               s.workspace % kBufferAlignment == 0),
         "a workspace lies nowhere");
  expect(step_of_[at(s.node)] < 0, "a node runs twice");
  const Node& n = g_.node(s.node);
  const bool op = n.kind == Node::Kind::kOp;
  expect(op || n.kind == Node::Kind::kCopy || n.has_subgraphs(),
         "a step is no work of its graph");
  const bool has_kernel = op && !host_function(*n.op);
  expect(!has_kernel || !n.op->dynamic, "the size of a step's result is not known");
  expect(s.kernel.empty() != has_kernel, "a step's kernel is not one of its node's");
  expect(!n.has_subgraphs() || p_.subplans[at(s.node)].size() == n.subgraphs.size(),
         "a branch has no plan");
  const std::string& device = plan_.devices[at(s.node)];
  expect(!device.empty(), "a step has no device");
  if (n.kind == Node::Kind::kCopy) {
    expect(n.inputs.size() == 1 && n.inputs[0].defined() && n.outputs.size() == 1 &&
               bytes_of(g_.info(n.inputs[0])) >= bytes_of(n.outputs[0]),
           "a copy has other sizes than its source");
  }
  check_lane(s, n);
  for (size_t i = 0; i < n.inputs.size(); ++i) check_input(s, n, i);
  for (size_t o = 0; o < n.outputs.size(); ++o) {
    if (n.outputs[o].state) continue;
    check_output(s, plan_.places[at(s.node)][o]);
  }
  step_of_[at(s.node)] = k;
}

// Where the executor does a step's work is what its lane says.
void PlanChecker::check_lane(const PlanStep& s, const Node& n) const {
  const PlanLane& lane = plan_.lanes[at(s.lane)];
  const bool host = lane.kind == PlanLane::Kind::kHost;
  const std::string& device = plan_.devices[at(s.node)];
  expect(host == is_host(lane.device), "a lane is on another device than it says");
  if (n.kind == Node::Kind::kCopy) {
    // Inside a conditional node constants are where they are read.
    const bool there = place(n.inputs[0]).storage == Place::Storage::kConstant &&
                       lane.kind == PlanLane::Kind::kCompute;
    check_copy(lane, there ? device : device_of(n.inputs[0]), device_of({s.node, 0}),
               device);
    return;
  }
  expect(same_memory(lane.device, device), "a step runs on another device's lane");
  expect(host || lane.kind == PlanLane::Kind::kCompute, "a lane of copies has a step");
  expect(host || !s.kernel.empty() || n.has_subgraphs(), "a list is not on the host");
  expect(!lane.side() || !s.kernel.empty(), "a branch of the host has no kernel");
  if (n.kind == Node::Kind::kIf || n.kind == Node::Kind::kCase) {
    expect(!host || is_host(device_of(n.inputs[0])),
           "what chooses a branch is on another device");
  }
  if (host || !n.has_subgraphs()) return;
  for (const auto& sub : p_.subplans[at(s.node)]) {
    for (const PlanStep& step : sub->plan.steps) {
      const PlanLane& inside = sub->plan.lanes[at(step.lane)];
      expect(inside.device == lane.device && inside.kind == PlanLane::Kind::kCompute,
             "a branch leaves the device that runs it");
    }
  }
}

// An executable waits for the end of a lane: its copies must all be on one stream.
void PlanChecker::check_copy(const PlanLane& lane, const std::string& from,
                             const std::string& to, const std::string& device) {
  using Kind = PlanLane::Kind;
  const Kind kind = is_host(from) && is_host(to) ? Kind::kHost
                    : from == to                 ? Kind::kCompute
                    : is_host(to)                ? Kind::kCopyOut
                                                 : Kind::kCopyIn;
  expect(same_memory(to, device), "a copy is made for another device");
  expect(lane.kind == kind && same_memory(lane.device, is_host(to) ? from : to),
         "a copy is on a lane that does not reach its ends");
}

void PlanChecker::check_input(const PlanStep& s, const Node& n, size_t i) const {
  const ValueRef v = n.inputs[i];
  if (!v.defined()) return;
  const bool kernel = !s.kernel.empty();
  const InputDef* def = n.op ? &n.op->input_def(static_cast<int>(i)) : nullptr;
  if (def && kernel && (def->host || def->shape_only)) return;
  expect_made(v);
  if (g_.info(v).state) {
    if (kernel) expect_on(variable_of(variable_handle(g_, v)).device->full_name(), s);
    return;
  }
  const Place& p = place(v);
  expect(p.storage != Place::Storage::kNone, "a step reads a value without memory");
  if (kernel && p.storage != Place::Storage::kConstant) check_device(s, p);
}

// A view is no step of its own: what it looks at is.
void PlanChecker::expect_made(ValueRef v) const {
  while (v.defined()) {
    const Node& n = g_.node(v.node);
    if (n.kind == Node::Kind::kParameter || n.kind == Node::Kind::kConstant ||
        n.kind == Node::Kind::kVariable) {
      return;
    }
    if (is_step_[at(v.node)]) {
      expect(step_of_[at(v.node)] >= 0, "a step comes before what it reads");
      return;
    }
    expect(!n.inputs.empty(), "a step reads what nobody makes");
    v = n.inputs[0];
  }
}

void PlanChecker::check_output(const PlanStep& s, const Place& p) const {
  expect(p.storage != Place::Storage::kNone && p.storage != Place::Storage::kParameter &&
             p.storage != Place::Storage::kConstant,
         "a step writes what is not its own");
  if (!s.kernel.empty()) check_device(s, p);
}

void PlanChecker::check_device(const PlanStep& s, const Place& p) const {
  if (p.storage == Place::Storage::kHandle) return;
  if (p.storage == Place::Storage::kVariable) {
    expect_on(variable_of(p_.variables[at(p.index)]).device->full_name(), s);
    return;
  }
  expect(p.space >= 0, "a value is on no device");
  expect_on(plan_.spaces[at(p.space)].device, s);
}

void PlanChecker::expect_on(const std::string& device, const PlanStep& s) const {
  expect(same_memory(device, plan_.devices[at(s.node)]),
         "a kernel has an operand on another device");
}

}  // namespace tandem
