#include "graph/trace.h"

#include "calls.h"
#include "graph/passes/passes.h"
#include "run/graph_interpreter.h"
#include "run/tape.h"
#include "tandem/device.h"

namespace tandem::prebuild {

namespace {
// Tapes listen while a body is traced.
void record_traced(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
                   std::span<const Tensor> outputs) {
  if (recording()) record_op(op, attrs, inputs, outputs);
}
}  // namespace

Graph trace(const std::vector<Argument>& arguments, bool optimize,
            const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body) {
  Graph graph;
  Tracer tracer(graph, record_traced);
  {
    const EmitterScope scope(&tracer);
    std::vector<Tensor> parameters;
    for (const Argument& a : arguments) {
      parameters.push_back(tracer.parameter(a.dtype, a.shape, "x"));
    }
    for (const Tensor& r : body(parameters)) {
      graph.results().push_back(tracer.value_of(r));
    }
  }
  tracer.finish();
  if (!optimize) return fold_constants(inline_calls(graph), nullptr);
  const auto run_node = [](const Node& node, std::span<const Tensor> inputs) {
    const DeviceScope host("/CPU:0");
    return interpret_node(node, inputs);
  };
  const Evaluate evaluate(run_node);
  PassOptions passes;
  passes.evaluate = &evaluate;
  PassTrace ignored;
  return tandem::optimize(graph, passes, &ignored);
}

}  // namespace tandem::prebuild
