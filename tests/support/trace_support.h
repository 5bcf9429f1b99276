// Tracing for tests: whole functions, branches and loops, with captures and variables,
// and questions about the graphs that come out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/trace.h"

namespace tandem::testing {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

struct Argument {
  DType dtype = DType::kFloat32;
  Shape shape;
};

/// The function as a graph.
Graph trace(const std::vector<Argument>& arguments, const Function& function);

/// Under a trace: If, Case and While nodes on tensors of that trace. Functions may use
/// tensors and variables from outside.
Tensors trace_if(const Tensor& predicate, const std::function<Tensors()>& then_branch,
                 const std::function<Tensors()>& else_branch);
Tensors trace_case(const Tensor& index,
                   const std::vector<std::function<Tensors()>>& branches);
Tensors trace_while(const std::function<Tensor(const Tensors&)>& condition,
                    const Function& body, const Tensors& initial);
/// A Call node with the function as its body.
Tensors trace_call(const Function& function, const Tensors& arguments);

/// Ops and control flow in order, without parameters, constants and variables:
/// "MatMul AddV2 If".
std::string op_list(const Graph& graph);
int count_ops(const Graph& graph, std::string_view op);
/// The first node of that op or kind word ("If", "While"); fails the test when there is
/// none.
const Node& find_node(const Graph& graph, std::string_view word);

/// What is known about concrete tensors, for specialize().
std::vector<TensorInfo> infos_of(const Tensors& arguments);

}  // namespace tandem::testing
