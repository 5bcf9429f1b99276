#include "plan/conditional.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/flags.h"
#include "device/conditional_work.h"
#include "graph/states.h"
#include "op/kernel.h"
#include "op/uncaptured.h"
#include "plan/assignment.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

using Question = ConditionalQuestion;

bool uses_parameter(const Graph& graph, size_t number) {
  const ValueRef p{graph.parameters()[number], 0};
  const auto is = [p](ValueRef v) { return v == p; };
  return std::any_of(graph.results().begin(), graph.results().end(), is) ||
         std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) {
           return std::any_of(n.inputs.begin(), n.inputs.end(), is);
         });
}

bool is_device(const Device* d) { return d && !d->is_host(); }

size_t first_operand(const Node& n) { return n.kind == Node::Kind::kWhile ? 0 : 1; }

// Where a loop's condition is computed, once values that begin on the host and are
// changed by a device are taken for the device's.
Device* device_of_condition(const Question& q) {
  std::vector<Device*> operands = q.operands;
  const Graph& body = *q.node.subgraphs[1];
  for (bool changed = true; changed;) {
    changed = false;
    const Assignment inner = assign_devices(body, operands, {.nested = true});
    for (size_t k = 0; k < static_cast<size_t>(q.node.carried); ++k) {
      Device* made = inner.of(body.results()[k]);
      if (!operands[k] || !operands[k]->is_host() || !is_device(made)) continue;
      operands[k] = made;
      changed = true;
    }
  }
  const Graph& condition = *q.node.subgraphs[0];
  const Assignment inner = assign_devices(condition, operands, {.nested = true});
  return inner.of(condition.results()[0]);
}

// Why values of the node cannot be in a device's memory; "": they can.
std::string unfit_value(const Question& q, const Device& device) {
  for (ValueRef v : q.node.inputs) {
    if (!v.defined()) continue;
    const ValueInfo& info = q.graph.info(v);
    if (info.state) {
      const Device* at = variable_of(variable_handle(q.graph, v)).device;
      if (at != &device) return "a variable is on " + at->short_name();
    } else if (info.dtype == DType::kVariant) {
      return "a list is part of it";
    } else if (info.dtype == DType::kString) {
      return "strings are part of it";
    } else if (!info.shape.is_known()) {
      return "a shape is not known";
    }
  }
  if (q.node.kind == Node::Kind::kWhile) return "";
  const DType selector = q.graph.info(q.node.inputs[0]).dtype;
  const bool fits =
      selector == DType::kBool || selector == DType::kInt32 || selector == DType::kInt64;
  return fits ? "" : fmt::format("its index is {}", dtype_name(selector));
}

// Why a node cannot be recorded as part of the device's work; "": it can.
std::string unfit_node(const Node& n, const Device* at, const std::string& reason,
                       const Device& device) {
  if (at && at != &device) {
    return fmt::format("{} is on {} ({})", n.name, at->short_name(), reason);
  }
  if (!at || n.kind != Node::Kind::kOp) return "";
  if (n.op->dynamic) return n.name + " makes sizes that depend on data";
  const auto kernels = KernelRegistry::get().find(*n.op, device.platform());
  const bool recorded = std::none_of(kernels.begin(), kernels.end(),
                                     [](const Kernel* k) { return is_uncaptured(*k); });
  return recorded ? "" : n.name + " cannot be recorded";
}

std::string unfit_graph(const Question& q, const Graph& graph, Device& device) {
  std::vector<Device*> operands;
  for (size_t k = first_operand(q.node); k < q.node.inputs.size(); ++k) {
    operands.push_back(q.graph.info(q.node.inputs[k]).state ? nullptr : &device);
  }
  const Assignment inner =
      assign_devices(graph, operands, {.nested = true, .inside = &device});
  for (int32_t i = 0; i < graph.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    std::string why =
        unfit_node(graph.node(i), inner.devices[at], inner.reasons[at], device);
    if (!why.empty()) return why;
  }
  for (ValueRef v : graph.results()) {
    if (v.defined() && graph.info(v).dtype == DType::kVariant) {
      return "a list is part of it";
    }
  }
  return "";
}

}  // namespace

bool is_flag_or_count(const ValueInfo& info) {
  return (is_integer(info.dtype) || info.dtype == DType::kBool) &&
         info.shape.is_known() && info.shape.num_elements() == 1;
}

bool belongs_to_condition(const Graph& graph, const Node& n, size_t input) {
  return n.kind == Node::Kind::kWhile && input >= static_cast<size_t>(n.carried) &&
         is_flag_or_count(graph.info(n.inputs[input])) &&
         uses_parameter(*n.subgraphs[0], input) &&
         !uses_parameter(*n.subgraphs[1], input);
}

ConditionalChoice choose_conditional(const Question& q) {
  const bool loop = q.node.kind == Node::Kind::kWhile;
  if (!loop && q.node.kind != Node::Kind::kIf && q.node.kind != Node::Kind::kCase) {
    return {};
  }
  Device* device = q.inside;
  if (!device) device = loop ? device_of_condition(q) : q.predicate;
  if (!is_device(device)) return {nullptr, "the host knows its predicate"};
  const auto no = [](const std::string& why) {
    return ConditionalChoice{nullptr, "no conditional node: " + why};
  };
  if (!env_bool("TANDEM_CONDITIONAL_NODES", true)) return no("switched off");
  if (!ConditionalWork::offered_by(*device, !loop)) {
    return no(device->short_name() + " has none");
  }
  std::string why = unfit_value(q, *device);
  for (const GraphPtr& graph : q.node.subgraphs) {
    if (why.empty()) why = unfit_graph(q, *graph, *device);
  }
  if (!why.empty()) return no(why);
  return {device, fmt::format("{} as a conditional node", loop ? "While" : "Cond")};
}

}  // namespace tandem
