#include "plan/check_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/states.h"
#include "plan/memory.h"
#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

constexpr int32_t kMostThreads = 4096;
// More than any memory, and no sum of a few of them overflows.
constexpr int64_t kMostBytes = int64_t{1} << 56;

[[noreturn]] void damaged(const std::string& what) {
  throw DataLossError(fmt::format(
      "plan: {}. It is damaged, or one of another graph; plan the function again.",
      what));
}
void expect(bool good, const char* what) {
  if (!good) damaged(what);
}
template <class List>
void expect_index(int32_t i, const List& list, const char* what) {
  expect(i >= 0 && static_cast<size_t>(i) < list.size(), what);
}
size_t at(int32_t i) { return static_cast<size_t>(i); }

bool is_host(const std::string& device) {
  return device.find("device:CPU") != std::string::npos;
}
bool same_memory(const std::string& a, const std::string& b) {
  return a == b || (is_host(a) && is_host(b));
}

int64_t bytes_of(const ValueInfo& info) {
  if (info.state || info.dtype == DType::kVariant || info.dtype == DType::kInvalid) {
    return 0;
  }
  expect(info.shape.is_known(), "the shape of a value is not known");
  return checked_bytes(info.dtype, info.shape);
}

class Checker {
 public:
  explicit Checker(const PlannedGraph& p) : p_(p), g_(*p.graph), plan_(p.plan) {}

  void run() {
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
    for (int32_t i = 0; i < g_.size(); ++i) check_node(i);
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

 private:
  const Place& place(ValueRef v) const { return plan_.places[at(v.node)][at(v.output)]; }

  void check_node(int32_t i) {
    const Node& n = g_.node(i);
    expect(plan_.places[at(i)].size() == n.outputs.size(),
           "a node has another number of results");
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

  // What is handed over by address must be what the other side expects.
  void check_subplan(int32_t index, const Graph& declared, const PlannedGraph& sub) {
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
  std::string device_of_operand(size_t i, int32_t index, const Node& n) const {
    const ValueRef v = operands_of(n)[i];
    if (place(v).storage != Place::Storage::kConstant) return device_of(v);
    if (!is_host(plan_.devices[at(index)])) return plan_.devices[at(index)];
    if (n.kind == Node::Kind::kWhile && i < at(n.carried)) {
      return device_of({index, static_cast<int32_t>(i)});
    }
    const std::string& viewed = plan_.devices[at(v.node)];
    return viewed.empty() ? "device:CPU:0" : viewed;
  }

  void check_place(const Place& p, const ValueInfo& info) const {
    if (p.space >= 0) expect_index(p.space, plan_.spaces, "a value is on no device");
    if (p.storage == Place::Storage::kNone) return;
    expect(p.offset >= 0 && p.bytes >= bytes_of(info), "a value lies nowhere");
    if (p.storage == Place::Storage::kHandle) {
      expect(info.dtype == DType::kVariant && p.index >= 0 && p.index < plan_.num_handles,
             "a list has no place");
      return;
    }
    const auto element =
        static_cast<int64_t>(std::max<size_t>(dtype_size(info.dtype), 1));
    expect(p.offset % element == 0, "a value lies across its elements");
    const int64_t room = room_at(p);
    expect(p.bytes <= room && p.offset <= room - p.bytes,
           "a value lies outside of its memory");
  }
  // Bytes of what a place is a part of.
  int64_t room_at(const Place& p) const {
    switch (p.storage) {
      case Place::Storage::kArena:
        expect_index(p.space, plan_.spaces, "a value is on no device");
        return plan_.spaces[at(p.space)].bytes;
      case Place::Storage::kParameter: {
        expect_index(p.index, g_.parameters(), "a value is in no argument");
        const ValueRef parameter{g_.parameters()[at(p.index)], 0};
        expect(p.space == place(parameter).space, "an argument is on two devices");
        return bytes_of(g_.info(parameter));
      }
      case Place::Storage::kConstant:
        expect_index(p.index, g_.nodes(), "a value is in no constant");
        expect(g_.node(p.index).kind == Node::Kind::kConstant,
               "a value is in no constant");
        return bytes_of(g_.node(p.index).outputs[0]);
      case Place::Storage::kVariable: {
        expect_index(p.index, p_.variables, "a value is in no variable");
        const VariableImpl& v = variable_of(p_.variables[at(p.index)]);
        return v.shape.is_known() ? checked_bytes(v.dtype, v.shape) : kMostBytes;
      }
      case Place::Storage::kResult: {
        expect_index(p.index, g_.results(), "a value is in no result");
        const ValueRef result = g_.results()[at(p.index)];
        expect(result.defined() && p.space >= 0, "a value is in no result");
        const Place& there = place(result);
        expect(there.storage == p.storage && there.index == p.index &&
                   there.space == p.space,
               "a result is in two places");
        return bytes_of(g_.info(result));
      }
      default:
        return 0;
    }
  }

  void check_step(int32_t k) {
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
    expect(s.kernel.empty() || op, "a step has a kernel and no op");
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
  void check_lane(const PlanStep& s, const Node& n) const {
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
  static void check_copy(const PlanLane& lane, const std::string& from,
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
  std::string device_of(ValueRef v) const {
    const Place& p = place(v);
    if (p.storage == Place::Storage::kVariable) {
      return variable_of(p_.variables[at(p.index)]).device->full_name();
    }
    if (p.storage == Place::Storage::kConstant) return "device:CPU:0";
    expect(p.space >= 0, "a value is on no device");
    return plan_.spaces[at(p.space)].device;
  }

  void check_input(const PlanStep& s, const Node& n, size_t i) const {
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
  void expect_made(ValueRef v) const {
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
  void check_output(const PlanStep& s, const Place& p) const {
    expect(p.storage != Place::Storage::kNone &&
               p.storage != Place::Storage::kParameter &&
               p.storage != Place::Storage::kConstant,
           "a step writes what is not its own");
    if (!s.kernel.empty()) check_device(s, p);
  }
  void check_device(const PlanStep& s, const Place& p) const {
    if (p.storage == Place::Storage::kHandle) return;
    if (p.storage == Place::Storage::kVariable) {
      expect_on(variable_of(p_.variables[at(p.index)]).device->full_name(), s);
      return;
    }
    expect(p.space >= 0, "a value is on no device");
    expect_on(plan_.spaces[at(p.space)].device, s);
  }
  void expect_on(const std::string& device, const PlanStep& s) const {
    expect(same_memory(device, plan_.devices[at(s.node)]),
           "a kernel has an operand on another device");
  }

  const PlannedGraph& p_;
  const Graph& g_;
  const Plan& plan_;
  std::vector<char> is_step_;     // by node
  std::vector<int32_t> step_of_;  // by node; -1: not yet
};

}  // namespace

void check_plan(const PlannedGraph& planned) { Checker(planned).run(); }

}  // namespace tandem
