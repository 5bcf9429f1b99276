#include "run/scalar_step.h"

#include <string_view>

namespace tandem {

ScalarOp scalar_op(const Graph& graph, const Node& node) {
  static constexpr std::string_view kNames[] = {"AddV2",     "Sub",     "Less",
                                                "LessEqual", "Greater", "GreaterEqual"};
  if (node.kind != Node::Kind::kOp || node.inputs.size() != 2) return ScalarOp::kNone;
  for (ValueRef v : node.inputs) {
    if (!v.defined()) return ScalarOp::kNone;
    const ValueInfo& info = graph.info(v);
    if (info.state || !info.shape.is_known() || info.shape.rank() != 0) {
      return ScalarOp::kNone;
    }
  }
  const DType dtype = graph.info(node.inputs[0]).dtype;
  if (dtype != graph.info(node.inputs[1]).dtype) return ScalarOp::kNone;
  if (dtype != DType::kInt32 && dtype != DType::kInt64) return ScalarOp::kNone;
  const ScalarOp first = dtype == DType::kInt32 ? ScalarOp::kAdd32 : ScalarOp::kAdd64;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (node.op->name != kNames[i]) continue;
    return static_cast<ScalarOp>(static_cast<size_t>(first) + i);
  }
  return ScalarOp::kNone;
}

}  // namespace tandem
