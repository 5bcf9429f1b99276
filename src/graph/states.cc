#include "graph/states.h"

#include <fmt/format.h>

#include "op/input_count.h"
#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

ValueRef previous_state(const Node& n, int32_t output) {
  switch (n.kind) {
    case Node::Kind::kOp:
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        const InputDef& def = n.op->input_def(static_cast<int>(i));
        if (def.resource && def.writes) return n.inputs[i];
      }
      return {};
    case Node::Kind::kCopy:
      return n.inputs[0];
    case Node::Kind::kWhile:
      return n.inputs[static_cast<size_t>(output)];
    case Node::Kind::kIf:
    case Node::Kind::kCase:
    case Node::Kind::kCall: {
      // Inside the first branch that gives one, the chain leads to a parameter.
      for (const GraphPtr& sub : n.subgraphs) {
        ValueRef inner = sub->results()[static_cast<size_t>(output)];
        if (!inner.defined()) continue;
        while (sub->node(inner.node).kind != Node::Kind::kParameter) {
          inner = previous_state(sub->node(inner.node), inner.output);
          if (!inner.defined()) return {};
        }
        const auto& parameters = sub->parameters();
        for (size_t k = 0; k < parameters.size(); ++k) {
          if (parameters[k] == inner.node) return operands_of(n)[k];
        }
      }
      return {};
    }
    case Node::Kind::kParameter:
    case Node::Kind::kConstant:
    case Node::Kind::kVariable:
      break;
  }
  return {};
}

std::span<const ValueRef> operands_of(const Node& node) {
  const bool chooses = node.kind == Node::Kind::kIf || node.kind == Node::Kind::kCase;
  return std::span<const ValueRef>(node.inputs).subspan(chooses ? 1 : 0);
}

Tensor variable_handle(const Graph& graph, ValueRef state) {
  while (state.defined()) {
    const Node& n = graph.node(state.node);
    if (n.kind == Node::Kind::kVariable || n.kind == Node::Kind::kParameter) {
      if (n.constant.defined()) return n.constant;
      break;
    }
    state = previous_state(n, state.output);
  }
  throw InternalError(fmt::format(
      "graph {}: a value used as the state of a variable belongs to none", graph.name()));
}

std::vector<ValueInfo> infer_node(const Graph& graph, const Node& node,
                                  std::span<const ValueInfo> infos) {
  check_input_count(*node.op, infos.size());
  std::vector<ValueInfo> known(infos.begin(), infos.end());
  for (size_t i = 0; i < known.size(); ++i) {
    const InputDef& def = node.op->input_def(static_cast<int>(i));
    if (def.resource && def.replaces) {
      known[i].shape = variable_of(variable_handle(graph, node.inputs[i])).shape;
    }
  }
  return infer_outputs(*node.op, node.attrs.ref(), known);
}

ValueInfo join_infos(const ValueInfo& a, const ValueInfo& b) {
  if (a.dtype != b.dtype || a.state != b.state) {
    throw InvalidArgumentError(fmt::format(
        "Control flow: a value is {} on one way and {} on another. Make them equal with "
        "a cast.",
        dtype_name(a.dtype), dtype_name(b.dtype)));
  }
  ValueInfo joined = a;
  joined.data = nullptr;
  if (a.shape.rank() != b.shape.rank()) {
    joined.shape = Shape::unknown();
  } else {
    for (int i = 0; i < a.shape.rank(); ++i) {
      if (a.shape[i] != b.shape[i]) joined.shape.set(i, kUnknownDim);
    }
  }
  joined.has_value = false;
  if (a.has_value && b.has_value && a.value.size() == b.value.size()) {
    for (size_t i = 0; i < a.value.size(); ++i) {
      if (a.value[i] != b.value[i]) joined.value[i] = kUnknownValue;
      joined.has_value = joined.has_value || joined.value[i] != kUnknownValue;
    }
  }
  if (!joined.has_value) joined.value.clear();
  return joined;
}

}  // namespace tandem
