// Traces a function, runs its graph with the interpreter, and gives what it returns: the
// same call eagerly must give the same.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "graph/autodiff.h"
#include "graph/passes/passes.h"
#include "graph/trace.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "run/tape.h"
#include "tandem/tandem.h"

namespace tandem::testing {

using TensorsFn = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

inline void tell_tapes(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> in,
                       std::span<const Tensor> out) {
  if (recording()) record_op(op, attrs, in, out);
}

/// The graph of `f` for arguments like these; `open`: all dimensions unknown.
inline std::shared_ptr<Graph> trace(const TensorsFn& f, const std::vector<Tensor>& like,
                                    bool open = false) {
  auto graph = std::make_shared<Graph>("traced");
  Tracer tracer(*graph, tell_tapes);
  const EmitterScope scope(&tracer);
  std::vector<Tensor> parameters;
  for (const Tensor& t : like) {
    parameters.push_back(tracer.parameter(
        t.dtype(), open ? Shape::unknown_of_rank(t.rank()) : t.shape(), "x"));
  }
  for (const Tensor& r : f(parameters)) graph->results().push_back(tracer.value_of(r));
  tracer.finish();
  return graph;
}

inline std::vector<Tensor> run_traced(const TensorsFn& f, const std::vector<Tensor>& args,
                                      bool open = false) {
  return interpret(*trace(f, args, open), args);
}

/// The graph for these arguments after all passes.
inline Graph optimized(const Graph& graph, const std::vector<Tensor>& arguments) {
  std::vector<TensorInfo> infos;
  for (size_t i = 0; i < arguments.size(); ++i) {
    // Of what a branch did not make, the graph knows more than the argument.
    TensorInfo info = graph.node(graph.parameters()[i]).outputs[0];
    if (arguments[i].defined()) info.shape = arguments[i].shape();
    infos.push_back(std::move(info));
  }
  const auto run = [](const Node& n, std::span<const Tensor> in) {
    return interpret_node(n, in);
  };
  const Evaluate evaluate = run;
  Graph made = optimize(specialize(graph, infos), {.evaluate = &evaluate});
  verify(made);
  return made;
}

/// Runs both halves of a differentiated graph: the results of the backward one.
inline std::vector<Tensor> interpret_differentiated(const Differentiated& d,
                                                    const std::vector<Tensor>& arguments,
                                                    std::vector<Tensor> gradients,
                                                    bool passes = false) {
  const std::vector<Tensor> results =
      interpret(passes ? optimized(d.forward, arguments) : Graph(d.forward), arguments);
  for (size_t i = results.size() - d.saved; i < results.size(); ++i) {
    gradients.push_back(results[i]);
  }
  return interpret(passes ? optimized(d.backward, gradients) : Graph(d.backward),
                   gradients);
}

}  // namespace tandem::testing
