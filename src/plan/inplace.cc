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

bool may_share(const Graph& graph, const Node& node, size_t input, int32_t output,
               const Device* device) {
  if (node.kind != Node::Kind::kOp || !node.inputs[input].defined()) return false;
  const ValueInfo& in = graph.info(node.inputs[input]);
  const ValueInfo& out = node.outputs[static_cast<size_t>(output)];
  if (in.state || !(in.shape == out.shape) ||
      dtype_size(in.dtype) != dtype_size(out.dtype)) {
    return false;
  }
  if (node.is_op("Fused") || node.is_op("FusedMulti")) {
    const int64_t groups = node.attrs.ref().as<FusedAttrs>().groups;
    const size_t per_input = node.inputs.size() / static_cast<size_t>(groups);
    const size_t per_output = node.outputs.size() / static_cast<size_t>(groups);
    const size_t group = input / per_input;
    if (group != static_cast<size_t>(output) / per_output) return false;
    // The output has the domain's shape, so an input of that shape is a full one.
    const FusedProgram program =
        FusedProgram::parse(node.attrs.ref().as<FusedAttrs>().program);
    // Host kernels go over a block once; others reduce in launches of their own, which
    // read the inputs again.
    const bool reduces =
        std::any_of(program.instructions.begin(), program.instructions.end(),
                    [](const FusedInstruction& i) {
                      return i.kind != FusedInstruction::Kind::kElementwise;
                    });
    if (reduces && device && device->platform() != kHostPlatform) return false;
    const int32_t value =
        program.outputs[static_cast<size_t>(output) % per_output] - program.num_inputs;
    return value >= 0 &&
           program.instructions[static_cast<size_t>(value)].kind ==
               FusedInstruction::Kind::kElementwise &&
           out.shape.num_elements() == domain_size(graph, node, group, per_input);
  }
  const auto bit =
      static_cast<unsigned>(std::min(node.op->def_index(static_cast<int>(input)), 31));
  return output == 0 && (node.op->inplace >> bit & 1u) != 0;
}

}  // namespace tandem
