#include "plan/assignment.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "device/runtime.h"
#include "graph/states.h"
#include "op/host_function.h"
#include "op/placement.h"
#include "plan/conditional.h"
#include "plan/list_devices.h"
#include "tandem/device.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

bool is_small_host_value(const ValueInfo& info) {
  return (is_integer(info.dtype) || info.dtype == DType::kBool) &&
         info.shape.is_known() && info.shape.num_elements() <= kMaxHostValues;
}

bool runs_on(const Signature& s, const Device& device) {
  return (s.op->view && s.op->view(s)) ||
         KernelRegistry::get().choose(s, device.platform());
}

class Assigner {
 public:
  Assigner(const Graph& graph, const std::vector<Device*>& parameter_devices,
           AssignOptions options)
      : graph_(graph), cpu_(Runtime::get().cpu()), options_(options) {
    const auto n = static_cast<size_t>(graph.size());
    result_.devices.assign(n, nullptr);
    result_.reasons.assign(n, "");
    result_.outputs.assign(n, {});
    several_ = Runtime::get().devices().size() > 1;
    size_t next = 0;
    for (int32_t p : graph.parameters()) {
      set(p, parameter_devices.at(next++), "argument");
    }
  }

  Assignment run() {
    for (int32_t i = 0; i < graph_.size(); ++i) assign(i);
    return std::move(result_);
  }

 private:
  void set(int32_t node, Device* device, std::string reason) {
    result_.devices[static_cast<size_t>(node)] = device;
    result_.reasons[static_cast<size_t>(node)] = std::move(reason);
  }

  void assign(int32_t i) {
    const Node& n = graph_.node(i);
    switch (n.kind) {
      case Node::Kind::kParameter:
      case Node::Kind::kConstant:
      case Node::Kind::kVariable:
        return;
      case Node::Kind::kCopy:
        set(i, &Runtime::get().named(n.device), "copy");
        return;
      case Node::Kind::kIf:
      case Node::Kind::kCase:
      case Node::Kind::kWhile:
      case Node::Kind::kCall:
        assign_control_flow(i, n);
        return;
      case Node::Kind::kOp:
        assign_op(i, n);
        return;
    }
  }

  Device* variable_device(const Node& n) const {
    for (ValueRef v : n.inputs) {
      if (v.defined() && graph_.info(v).state) {
        return variable_of(variable_handle(graph_, v)).device;
      }
    }
    return nullptr;
  }

  // A scope that names a device which is not there; soft placement replaces it.
  static void check_scope(const Node& n) {
    if (n.device.empty() || config::get_soft_device_placement()) return;
    if (!std::isdigit(static_cast<unsigned char>(n.device.back()))) return;
    const size_t at = n.device.rfind("/device:");
    const std::string wanted = at == std::string::npos ? n.device : n.device.substr(at);
    for (Device* d : Runtime::get().devices()) {
      if (d->full_name().ends_with(wanted)) return;
    }
    throw InvalidArgumentError(fmt::format(
        "Cannot assign a device for operation {0}: {{{{node {0}}}}} was explicitly "
        "assigned to {1} but available devices are [{2}]. Make sure the device "
        "specification refers to a valid device, or turn soft placement on. [Op:{3}]",
        n.name, wanted, device_list(), n.op->name));
  }

  void assign_op(int32_t i, const Node& n) {
    check_scope(n);
    if (!several_) {
      set(i, &cpu_, "only device");
      return;
    }
    if (Device* device = variable_device(n)) {
      set(i, device, "variable");
      return;
    }
    if (host_function(*n.op)) {
      set(i, &cpu_, "a function of the host");
      if (is_list_op(*n.op)) assign_list(i, n);
      return;
    }
    if (!options_.inside && n.device.empty() && stays_on_host(n)) {
      set(i, &cpu_, "small integers stay on the host");
      return;
    }
    // As in TensorFlow, whose GPU kernels keep such integers in host memory: the host
    // asks for them in every turn of a loop.
    if (!options_.inside && is_counter(i, n)) {
      set(i, &cpu_, "counters and predicates of host values stay on the host");
      return;
    }
    NodeSignature s;
    node_signature(graph_, n, nullptr, s);
    if (options_.inside && n.device.empty() && runs_on(s.signature, *options_.inside)) {
      set(i, options_.inside, "inside a conditional node");
    } else if (n.device.empty()) {
      const DeviceScope none(std::nullopt);
      const Placement p = place_eager(s.signature);
      set(i, p.device, p.reason);
    } else {
      const DeviceScope none(std::nullopt);
      const DeviceScope scope(n.device);
      const Placement p = place_eager(s.signature);
      set(i, p.device, fmt::format("{} {}", p.reason, n.device));
    }
  }

  bool stays_on_host(const Node& n) const {
    for (ValueRef v : n.inputs) {
      if (!v.defined()) continue;
      Device* d = result_.of(v);
      if (d && !d->is_host()) return false;
    }
    return std::all_of(n.outputs.begin(), n.outputs.end(), is_small_host_value);
  }

  bool is_counter(int32_t i, const Node& n) const {
    if (!std::all_of(n.outputs.begin(), n.outputs.end(), is_flag_or_count)) return false;
    const auto& results = graph_.results();
    const auto mine = [i](ValueRef v) { return v.node == i; };
    if (!options_.nested && std::any_of(results.begin(), results.end(), mine))
      return false;
    return stays_on_host(n);
  }

  // Elements stay where they are: in a list that has a device already, or where the first
  // one is made. Null: nothing has been put into it.
  void assign_list(int32_t i, const Node& n) {
    Device* device = nullptr;
    for (ValueRef v : n.inputs) {
      if (!v.defined() || graph_.info(v).dtype != DType::kVariant) continue;
      if (!device) device = result_.of(v);
    }
    const int from = element_input(*n.op), to = element_output(*n.op);
    if (!device && from >= 0) {
      const ValueRef item = n.inputs[static_cast<size_t>(from)];
      device = item.defined() ? result_.of(item) : nullptr;
      if (item.defined() && !device) device = &cpu_;
    }
    auto& outputs = result_.outputs[static_cast<size_t>(i)];
    outputs.assign(n.outputs.size(), &cpu_);
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (n.outputs[o].dtype == DType::kVariant) {
        outputs[o] = device;
      } else if (static_cast<int>(o) == to && device) {
        outputs[o] = device;
      }
    }
  }

  // Operands stay where they are; results are where the first branch makes them, carried
  // values where they begin.
  void assign_control_flow(int32_t i, const Node& n) {
    set(i, &cpu_, "control flow");
    const size_t first = n.kind == Node::Kind::kIf || n.kind == Node::Kind::kCase ? 1 : 0;
    std::vector<Device*> operands;
    for (size_t k = first; k < n.inputs.size(); ++k) {
      const ValueRef v = n.inputs[k];
      const ValueInfo& info = graph_.info(v);
      Device* d = info.state ? nullptr : result_.of(v);
      if (!d && !info.state && info.dtype != DType::kVariant) {
        const bool host = is_small_host_value(info) || info.dtype == DType::kString;
        d = host ? &cpu_ : Runtime::get().by_priority()[0];
      }
      if (belongs_to_condition(graph_, n, k)) d = &cpu_;
      operands.push_back(d);
    }
    find_lists(n, operands);
    auto& outputs = result_.outputs[static_cast<size_t>(i)];
    outputs.assign(n.outputs.size(), &cpu_);
    Device* const predicate = first ? result_.of(n.inputs[0]) : nullptr;
    const ConditionalChoice choice =
        several_ ? choose_conditional({graph_, n, operands, predicate, options_.inside})
                 : ConditionalChoice{};
    if (!choice.why.empty()) {
      set(i, choice.device ? choice.device : &cpu_, "control flow; " + choice.why);
    }
    if (choice.device) {
      outputs.assign(n.outputs.size(), choice.device);
      return;
    }
    if (n.kind == Node::Kind::kWhile) {
      for (size_t k = 0; k < outputs.size(); ++k) outputs[k] = operands[k];
      return;
    }
    for (size_t branch = n.subgraphs.size(); branch-- > 0;) {
      const Graph& g = *n.subgraphs[branch];
      const Assignment inner = assign_devices(g, operands, {.nested = true});
      for (size_t k = 0; k < outputs.size(); ++k) {
        const ValueRef v = g.results()[k];
        if (!v.defined()) continue;
        Device* d = inner.of(v);
        if (!d && g.info(v).dtype != DType::kVariant)
          d = is_small_host_value(g.info(v)) ? &cpu_ : Runtime::get().by_priority()[0];
        if (d) outputs[k] = d;
      }
    }
  }

  // Lists that begin empty have the device of what the body puts into them.
  void find_lists(const Node& n, std::vector<Device*>& operands) {
    const auto carried = static_cast<size_t>(n.carried);
    bool open = false;
    for (size_t k = 0; n.kind == Node::Kind::kWhile && k < carried; ++k) {
      open |= !operands[k] && !graph_.info(n.inputs[k]).state;
    }
    if (open) {
      const Graph& body = *n.subgraphs[1];
      const Assignment inner = assign_devices(body, operands, {.nested = true});
      for (size_t k = 0; k < carried; ++k) {
        if (operands[k] || graph_.info(n.inputs[k]).state) continue;
        operands[k] = inner.of(body.results()[k]);
      }
    }
    const size_t first = n.inputs.size() - operands.size();
    for (size_t k = 0; k < operands.size(); ++k) {
      if (!operands[k] && !graph_.info(n.inputs[first + k]).state) operands[k] = &cpu_;
    }
  }

  const Graph& graph_;
  Device& cpu_;
  const AssignOptions options_;
  bool several_ = false;
  Assignment result_;
};

}  // namespace

Assignment assign_devices(const Graph& graph,
                          const std::vector<Device*>& parameter_devices,
                          AssignOptions options) {
  return Assigner(graph, parameter_devices, options).run();
}

void node_signature(const Graph& graph, const Node& node, Device* device,
                    NodeSignature& into) {
  into.kept.clear();
  into.inputs.clear();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueRef v = node.inputs[i];
    if (!v.defined()) {
      into.inputs.emplace_back();
      continue;
    }
    TensorInfo info = graph.info(v);
    const Node& producer = graph.node(v.node);
    if (!info.data && producer.kind == Node::Kind::kConstant &&
        node.op->input_def(static_cast<int>(i)).host) {
      into.kept.push_back(producer.constant.to_host());
      info.data = into.kept.back().host_data();
    }
    into.inputs.push_back(std::move(info));
  }
  into.outputs.clear();
  for (const ValueInfo& o : node.outputs) {
    if (!o.state) into.outputs.push_back(o);
  }
  into.signature = {};
  into.signature.op = node.op;
  into.signature.attrs = node.attrs.ref();
  into.signature.inputs = into.inputs;
  into.signature.outputs = into.outputs;
  into.signature.device = device;
}

}  // namespace tandem
