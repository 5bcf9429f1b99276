#include "run/graph_interpreter.h"

#include "run/eager.h"
#include "run/tape.h"

namespace tandem {

std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> arguments) {
  PauseRecording pause;
  std::vector<std::vector<Tensor>> values(graph.nodes().size());
  size_t next = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Node& n = graph.nodes()[i];
    if (n.kind == Node::Kind::kParameter) {
      values[i] = {arguments[next++]};
    } else if (n.kind == Node::Kind::kConstant) {
      values[i] = {n.constant};
    } else {
      static const Tensor absent;
      std::vector<TensorArg> inputs;
      for (ValueRef v : n.inputs) {
        inputs.emplace_back(
            v.node < 0
                ? absent
                : values[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)]);
      }
      eager_emitter().emit(*n.op, n.attrs.ref(), inputs, values[i]);
    }
  }
  std::vector<Tensor> results;
  for (ValueRef v : graph.results()) {
    results.push_back(values[static_cast<size_t>(v.node)][static_cast<size_t>(v.output)]);
  }
  return results;
}

}  // namespace tandem
