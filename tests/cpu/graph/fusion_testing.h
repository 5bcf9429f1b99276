// What the tests of fusion share: tracing a function into a graph, taking fused nodes
// apart again, and running both.
#pragma once

#include <functional>

#include <gtest/gtest.h>

#include "graph/graph.h"
#include "graph/passes/fusion.h"
#include "op/fused_program.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {

using Body = std::function<Tensors(const Tensors&)>;

/// The graph of `body` with parameters like the given tensors.
Graph traced(const Tensors& like, const Body& body);

/// The same after all passes but fusion; `body` may have gradients inside.
Graph optimized(const Tensors& arguments, const Body& body);

/// The inverse of fusion: every Fused and FusedMulti node as the ops of its program. What
/// fused kernels are compared with, and a reading of programs of its own.
Graph unfused(const Graph& graph);

/// The only node that is a certain op.
const Node& only(const Graph& graph, const std::string& op);
/// Its program's instructions: "Mul AddV2 row:Sum".
std::string instructions(const Node& fused);

/// The nodes that launch kernels, one a line, with their programs.
std::string kernel_list(const Graph& graph);

/// Numbers from -1 to 1, the same in every run.
Tensor numbers(const Shape& shape, uint32_t seed);

/// For results that fused kernels round in another order.
inline constexpr double kClose = 1e-5;

/// Both graphs give the same bits (`tolerance` 0) or nearly the same numbers.
void expect_same(const Graph& a, const Graph& b, const Tensors& arguments,
                 double tolerance = 0);

/// fuse_elementwise with the CPU's target, checked against the original.
Graph fused_and_checked(const Tensors& arguments, const Body& body, double tolerance = 0);

}  // namespace tandem::testing
