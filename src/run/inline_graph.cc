#include "run/inline_graph.h"

#include <optional>

#include <fmt/format.h>

#include "graph/states.h"
#include "graph/trace.h"
#include "run/control_flow_record.h"
#include "run/tape.h"
#include "tandem/device.h"

namespace tandem {

namespace {

class Inliner {
 public:
  Inliner(const Graph& graph, Tracer& tracer)
      : graph_(graph), tracer_(tracer), values_(static_cast<size_t>(graph.size())) {}

  void add(int32_t i, std::span<const Tensor> arguments) {
    const Node& n = graph_.node(i);
    std::vector<Tensor>& made = values_[static_cast<size_t>(i)];
    std::optional<DeviceScope> device;
    if (!n.device.empty()) device.emplace(n.device);
    switch (n.kind) {
      case Node::Kind::kParameter:
        made = {n.outputs[0].state ? Tensor() : arguments[parameter_++]};
        break;
      case Node::Kind::kConstant:
        made = {n.constant};
        break;
      case Node::Kind::kVariable:
        made = {Tensor()};
        break;
      case Node::Kind::kOp: {
        const std::vector<Tensor> inputs = tensors(n.inputs);
        tracer_.emit(*n.op, n.attrs.ref(),
                     std::vector<TensorArg>(inputs.begin(), inputs.end()), made);
        break;
      }
      default:
        add_control_flow(i, n, made);
    }
  }

  std::vector<Tensor> tensors(std::span<const ValueRef> refs) const {
    std::vector<Tensor> list;
    for (const ValueRef& v : refs) {
      if (!v.defined()) {
        list.emplace_back();
      } else if (graph_.info(v).state) {
        list.push_back(variable_handle(graph_, v));
      } else {
        list.push_back(
            values_[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)]);
      }
    }
    return list;
  }

 private:
  void add_control_flow(int32_t i, const Node& n, std::vector<Tensor>& made) {
    ControlFlowNode node;
    node.operands = tensors(n.inputs);
    Node copy = n;
    copy.after.clear();
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      if (!n.inputs[k].defined()) continue;
      const Tensor& t = node.operands[k];
      copy.inputs[k] =
          graph_.info(n.inputs[k]).state ? tracer_.state_of(t) : tracer_.value_of(t);
    }
    node.node = tracer_.add_control_flow(std::move(copy));
    bool states = false;
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      if (n.outputs[static_cast<size_t>(o)].state) {
        states = true;
        tracer_.set_state(variable_handle(graph_, {i, o}), {node.node, o});
        made.emplace_back();
        continue;
      }
      made.push_back(tracer_.symbolic({node.node, o}));
      if (!states) {
        node.results.push_back(made.back());
      } else if (recording()) {
        throw UnimplementedError(fmt::format(
            "{}: a concrete function that takes gradients of control flow itself cannot "
            "be differentiated inside another function. Call the tf.function it was made "
            "from.",
            graph_.name()));
      }
    }
    record_control_flow(tracer_, node);
  }

  const Graph& graph_;
  Tracer& tracer_;
  std::vector<std::vector<Tensor>> values_;
  size_t parameter_ = 0;
};

}  // namespace

std::vector<Tensor> inline_graph(const Graph& graph, std::span<const Tensor> arguments) {
  size_t wanted = 0;
  for (int32_t p : graph.parameters()) wanted += !graph.node(p).outputs[0].state;
  if (arguments.size() != wanted) {
    throw ValueError(fmt::format("{} takes {} tensors, got {}.", graph.name(), wanted,
                                 arguments.size()));
  }
  Inliner inliner(graph, *current_tracer());
  for (int32_t i = 0; i < graph.size(); ++i) inliner.add(i, arguments);
  return inliner.tensors(graph.results());
}

}  // namespace tandem
