#include "run/control_flow_record.h"

#include <algorithm>

#include "graph/autodiff.h"
#include "graph/autodiff_control_flow.h"
#include "run/tape.h"

namespace tandem {

namespace {

// A node as it was when recorded. Asking for gradients gives it more outputs and, in
// loops, more inputs after the carried ones it had.
struct RecordedNode {
  std::weak_ptr<const void> alive;
  Tracer* owner = nullptr;
  int32_t node = -1;
  size_t carried = 0;
  size_t num_outputs = 0;
  std::vector<Tensor> operands;
  std::vector<Tensor> outputs;  // by output; more are added
};
using RecordedNodePtr = std::shared_ptr<RecordedNode>;

std::vector<Gradient> go_back(const RecordedNodePtr& record,
                              std::span<const int32_t> outputs,
                              std::span<const Gradient> grads,
                              std::span<const bool> needs);

// Some outputs of the node as one op of its inputs.
void record_outputs(const RecordedNodePtr& record, std::vector<int32_t> outputs) {
  if (!recording() || outputs.empty()) return;
  const std::vector<TensorArg> args(record->operands.begin(), record->operands.end());
  std::vector<Tensor> tensors;
  for (int32_t o : outputs) tensors.push_back(record->outputs[static_cast<size_t>(o)]);
  record_selective(args, tensors,
                   [record, outputs = std::move(outputs)](std::span<const Gradient> grads,
                                                          std::span<const bool> needs) {
                     return go_back(record, outputs, grads, needs);
                   });
}

std::vector<Gradient> go_back(const RecordedNodePtr& record,
                              std::span<const int32_t> outputs,
                              std::span<const Gradient> grads,
                              std::span<const bool> needs) {
  if (record->alive.expired() || !current_tracer()) {
    throw InvalidArgumentError(
        "The gradient of a cond or while_loop was asked for outside of the function that "
        "it was traced in. Ask for it inside, or return the result and ask there.");
  }
  Tracer& owner = *record->owner;
  const Node& node = owner.graph().node(record->node);
  const size_t inserted = node.inputs.size() - record->operands.size();
  std::vector<Tensor> operands = record->operands;
  const auto at = static_cast<int64_t>(record->carried);
  for (size_t i = 0; i < inserted; ++i) {
    operands.insert(operands.begin() + at + static_cast<int64_t>(i),
                    tensor_of(owner, node.inputs[record->carried + i]));
  }
  std::vector<Gradient> by_output(node.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    by_output[static_cast<size_t>(outputs[i])] = grads[i];
  }
  auto wanted = std::make_unique<bool[]>(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool before = i < record->carried;
    wanted[i] = before                           ? needs[i]
                : i < record->carried + inserted ? false
                                                 : needs[i - inserted];
  }
  NodeGradient made = control_flow_gradient({owner,
                                             record->node,
                                             operands,
                                             record->outputs,
                                             by_output,
                                             {wanted.get(), operands.size()}});
  if (made.backward.node < 0) return std::vector<Gradient>(record->operands.size());

  // What the gradient reads of the node beyond its own results is computed from the same
  // inputs: gradients of the gradient go on from there.
  std::vector<int32_t> more;
  for (int32_t o : made.read_outputs) {
    const bool first = std::find(more.begin(), more.end(), o) == more.end();
    if (first && static_cast<size_t>(o) >= record->num_outputs) more.push_back(o);
  }
  record_outputs(record, std::move(more));
  record_control_flow(*current_tracer(), made.backward);

  made.operands.erase(made.operands.begin() + at,
                      made.operands.begin() + at + static_cast<int64_t>(inserted));
  return std::move(made.operands);
}

}  // namespace

void record_control_flow(Tracer& tracer, const ControlFlowNode& made) {
  if (!recording()) return;
  auto record = std::make_shared<RecordedNode>();
  record->alive = tracer.lifetime();
  record->owner = &tracer;
  record->node = made.node;
  record->carried = static_cast<size_t>(tracer.graph().node(made.node).carried);
  record->num_outputs = made.results.size();
  record->operands = made.operands;
  record->outputs = made.results;
  std::vector<int32_t> all;
  for (size_t i = 0; i < made.results.size(); ++i) all.push_back(static_cast<int32_t>(i));
  record_outputs(record, std::move(all));
}

}  // namespace tandem
