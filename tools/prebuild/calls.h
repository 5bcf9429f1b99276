// The calls whose kernels are compiled ahead: ops that any program may use, and training
// steps of usual layers, losses and optimizers, as graphs of single ops.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "tandem/tensor.h"

namespace tandem::prebuild {

/// Elementwise ops, casts, reductions, moves over common dtypes.
std::vector<Graph> op_graphs();
/// Steps as a compiled function has them before ops are fused.
std::vector<Graph> step_graphs();

struct Argument {
  DType dtype = DType::kFloat32;
  Shape shape;
};
/// The function as a graph of ops with known shapes; `optimize`: as a compiled function
/// would have it, else each op as it is.
Graph trace(const std::vector<Argument>& arguments, bool optimize,
            const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body);

}  // namespace tandem::prebuild
