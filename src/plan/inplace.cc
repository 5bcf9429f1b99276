#include "plan/inplace.h"

#include <algorithm>

#include "op/fused_program.h"

namespace tandem {

namespace {
// Elements of the domain of one group of a fused node.
int64_t domain_size(const Graph& graph, const Node& node, size_t group, size_t inputs) {
  Shape domain;
  for (size_t i = group * inputs; i < (group + 1) * inputs; ++i) {
    Shape wider;
    if (!broadcast_shapes(domain, graph.info(node.inputs[i]).shape, &wider)) return -1;
    domain = wider;
  }
  return domain.num_elements();
}
}  // namespace

InPlace::InPlace(const Graph& graph, const Node& node, const Device* device)
    : graph_(graph), node_(node) {
  fused_ = node.is_op("Fused") || node.is_op("FusedMulti");
  if (!fused_) return;
  const auto& attrs = node.attrs.ref().as<FusedAttrs>();
  groups_ = static_cast<size_t>(attrs.groups);
  const FusedProgram program = FusedProgram::parse(attrs.program);
  const auto elementwise = [](const FusedInstruction& i) {
    return i.kind == FusedInstruction::Kind::kElementwise;
  };
  // Host kernels go over a block once. Others do so with a row, but reduce columns and
  // everything in launches of their own, which read the inputs again.
  const bool reduces =
      std::any_of(program.instructions.begin(), program.instructions.end(),
                  [](const FusedInstruction& i) {
                    return i.kind == FusedInstruction::Kind::kColumnReduce ||
                           i.kind == FusedInstruction::Kind::kAllReduce;
                  });
  const bool once = !reduces || !device || device->platform() == kHostPlatform;
  for (int32_t output : program.outputs) {
    const int32_t value = output - program.num_inputs;
    elementwise_.push_back(once && value >= 0 &&
                           elementwise(program.instructions[static_cast<size_t>(value)]));
  }
  const size_t inputs = node.inputs.size() / groups_;
  for (size_t g = 0; g < groups_; ++g) {
    domain_.push_back(domain_size(graph, node, g, inputs));
  }
}

bool InPlace::may_share(size_t input, int32_t output) const {
  if (node_.kind != Node::Kind::kOp || !node_.inputs[input].defined()) return false;
  const ValueInfo& in = graph_.info(node_.inputs[input]);
  const ValueInfo& out = node_.outputs[static_cast<size_t>(output)];
  if (in.state || !(in.shape == out.shape) ||
      dtype_size(in.dtype) != dtype_size(out.dtype)) {
    return false;
  }
  if (fused_) {
    const size_t group = input / (node_.inputs.size() / groups_);
    const size_t per_output = node_.outputs.size() / groups_;
    if (group != static_cast<size_t>(output) / per_output) return false;
    // The output has the domain's shape, so an input of that shape is a full one.
    return elementwise_[static_cast<size_t>(output) % per_output] &&
           out.shape.num_elements() == domain_[group];
  }
  const auto bit =
      static_cast<unsigned>(std::min(node_.op->def_index(static_cast<int>(input)), 31));
  return output == 0 && (node_.op->inplace >> bit & 1u) != 0;
}

}  // namespace tandem
