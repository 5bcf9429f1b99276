// The copies of a plan: one for each value that is needed on another device.
#include <map>
#include <tuple>

#include "device/runtime.h"
#include "op/host_function.h"
#include "plan/assignment.h"
#include "plan/conditional.h"
#include "plan/copy_policy.h"
#include "plan/list_devices.h"

namespace tandem {

namespace {

// Builds the graph again, with copies where values cross.
class CopyInserter {
 public:
  CopyInserter(const Graph& from, Assignment& assignment, CopyPolicy policy, bool fixed)
      : from_(from), old_(assignment), policy_(policy), fixed_(fixed), to_(from.name()) {}

  Graph run() {
    for (int32_t i = 0; i < from_.size(); ++i) {
      const Node& n = from_.node(i);
      Node made = n;
      for (size_t k = 0; k < made.inputs.size(); ++k) {
        ValueRef& v = made.inputs[k];
        if (!v.defined()) continue;
        if (!needs_copy(n, i, k)) {
          v = at(v);
          continue;
        }
        Device& to = target(n, i, k);
        // The host reads a predicate to choose a branch: there is no other way.
        if (Device* have = old_.of(v); have != &to && !n.has_subgraphs()) {
          check_planned_copy(policy_, n, static_cast<int>(k), from_.info(n.inputs[k]),
                             *have, to);
        }
        v = copy(n.inputs[k], to);
      }
      for (int32_t& before : made.after) before = nodes_[static_cast<size_t>(before)];
      nodes_.push_back(to_.add_node(std::move(made)));
      note(old_.devices[static_cast<size_t>(i)], old_.reasons[static_cast<size_t>(i)],
           old_.outputs[static_cast<size_t>(i)]);
    }
    for (ValueRef v : from_.results()) to_.results().push_back(at(v));
    for (ValueRef v : from_.final_states()) to_.final_states().push_back(at(v));
    old_ = std::move(new_);
    return std::move(to_);
  }

 private:
  ValueRef at(ValueRef v) const {
    return v.defined() ? ValueRef{nodes_[static_cast<size_t>(v.node)], v.output} : v;
  }
  void note(Device* device, std::string reason, std::vector<Device*> outputs) {
    new_.devices.push_back(device);
    new_.reasons.push_back(std::move(reason));
    new_.outputs.push_back(std::move(outputs));
  }
  Device& target(const Node& n, int32_t i, size_t k) const {
    if (n.has_subgraphs()) return *old_.devices[static_cast<size_t>(i)];
    if (is_element(n, k)) {
      Device* d = old_.of({i, 0});
      return d ? *d : Runtime::get().cpu();
    }
    return *old_.devices[static_cast<size_t>(i)];
  }
  static bool is_element(const Node& n, size_t k) {
    return n.op && element_input(*n.op) == static_cast<int>(k);
  }
  bool needs_copy(const Node& n, int32_t i, size_t k) const {
    const ValueRef v = n.inputs[k];
    if (from_.info(v).state || from_.info(v).dtype == DType::kVariant) return false;
    Device* have = old_.of(v);
    if (!have) return false;
    if (n.has_subgraphs() && old_.devices[static_cast<size_t>(i)]->is_host()) {
      // The predicate is read by the host; operands stay where they are.
      if (have->is_host()) return false;
      return n.kind == Node::Kind::kWhile ? belongs_to_condition(from_, n, k)
                                          : k == 0 && n.kind != Node::Kind::kCall;
    }
    if (n.kind == Node::Kind::kCopy) return false;
    if (n.kind == Node::Kind::kOp) {
      const InputDef& def = n.op->input_def(static_cast<int>(k));
      if (def.shape_only) return false;
      // Kernels were prepared with the value; a function of the host reads it when it
      // runs.
      if (def.host && !host_function(*n.op)) return false;
    }
    Device* want = &target(n, i, k);
    if (is_element(n, k)) return want != have && !(want->is_host() && have->is_host());
    // Work of a device is recorded with fixed addresses; arguments come and go, so they
    // go through a slot of the plan's own.
    if (from_.node(v.node).kind == Node::Kind::kParameter && !have->is_host() && !fixed_)
      return true;
    return want != have && !(want->is_host() && have->is_host());
  }
  ValueRef copy(ValueRef v, Device& device) {
    const auto key = std::make_tuple(v.node, v.output, device.ordinal());
    const auto found = copies_.find(key);
    if (found != copies_.end()) return found->second;
    Node n;
    n.kind = Node::Kind::kCopy;
    n.name = from_.node(v.node).name + "/to_" + device.short_name();
    n.inputs = {at(v)};
    n.outputs = {from_.info(v)};
    n.device = device.full_name();
    n.location = from_.node(v.node).location;
    const ValueRef made{to_.add_node(std::move(n)), 0};
    note(&device, "copy", {});
    copies_.emplace(key, made);
    return made;
  }

  const Graph& from_;
  Assignment& old_;
  const CopyPolicy policy_;
  const bool fixed_;
  Assignment new_;
  Graph to_;
  std::vector<int32_t> nodes_;  // old → new
  std::map<std::tuple<int32_t, int32_t, int>, ValueRef> copies_;
};

}  // namespace

Graph insert_copies(const Graph& graph, Assignment& assignment, CopyPolicy policy,
                    bool fixed) {
  return CopyInserter(graph, assignment, policy, fixed).run();
}

}  // namespace tandem
