// Sub-graphs and the nodes that hold them: what branches and loop bodies have captured
// becomes their common operands, variables that they write become results. Used while an
// enclosing function is traced and by autodiff. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/trace.h"

namespace tandem {

/// A branch or a body while it is being traced.
struct Subgraph {
  Subgraph(std::string name, Tracer& outer, Tracer::Listener listener)
      : graph(std::move(name)), tracer(graph, std::move(listener), &outer) {}
  Graph graph;
  Tracer tracer;
  /// Loops: the parameters that are the loop's variables.
  std::vector<int32_t> variables;
  /// What it returns, as values of `graph`; undefined: this branch does not make it.
  std::vector<ValueRef> results;
  /// Parameters that stand for values outside. Taken from the tracer when the sub-graph
  /// becomes part of a node, unless it was closed before.
  std::vector<Tracer::Capture> captures;
  bool closed = false;
  void close() {
    if (!closed) captures = tracer.captures();
    closed = true;
  }
};
using Subgraphs = std::vector<std::unique_ptr<Subgraph>>;

/// A node with sub-graphs and the tensors around it.
struct ControlFlowNode {
  int32_t node = -1;
  /// One per input: tensors of the enclosing trace (or eager ones), handles of variables.
  std::vector<Tensor> operands;
  /// The results that are not states.
  std::vector<Tensor> results;
};

/// Appends kIf or kCase (with a selector) or kCall (one branch, no selector). Branches
/// have equally many results of equal dtypes.
ControlFlowNode add_branches(Tracer& outer, Node::Kind kind, const Tensor& selector,
                             Subgraphs& branches, std::string name);

/// Appends a kCall of a finished graph. One operand per parameter: a tensor, or the
/// variable's handle where the parameter is a state. Results that are states come last;
/// `written` are their variables.
ControlFlowNode add_call(Tracer& outer, GraphPtr body, std::vector<Tensor> operands,
                         const std::vector<Tensor>& written, std::string name);

/// Appends kWhile. `body` has as many results as there are variables, `condition` one.
ControlFlowNode add_while(Tracer& outer, Subgraph& condition, Subgraph& body,
                          const std::vector<Tensor>& variables, int64_t max_iterations,
                          std::string name);

/// Autodiff gives a loop more variables: lists, which begin empty, and a counter. Nodes
/// stand in topological order, so what they begin with is put before every loop.
struct LoopSeeds {
  ValueRef empty_list;
  ValueRef zero;
};
/// Those of a graph, among its first `before` nodes; undefined when it has none.
LoopSeeds find_loop_seeds(const Graph& graph, int32_t before);
LoopSeeds add_loop_seeds(Graph& graph);

/// A parameter of a sub-graph that is being put in shape.
struct Operand {
  int32_t parameter = -1;  // the node that stands for it; -1: nobody uses it
  ValueInfo info;          // of a parameter to be made
  Tensor handle;           // of a state
};
/// The same graph with exactly these parameters, in this order, before all other nodes.
Graph with_operands(const Graph& graph, const std::vector<Operand>& operands);

/// What is certain about a value that comes from one of several places.
ValueInfo common_info(const ValueInfo& a, const ValueInfo& b);

}  // namespace tandem
