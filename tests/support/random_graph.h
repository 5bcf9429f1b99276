// Random programs for comparing executions of graphs: elementwise ops, reductions, matrix
// products, changes of shape and layout, variables, branches and loops, rich in what
// passes look for (zeros added, transpositions twice, equal expressions, dead values).
// The same seed gives the same program.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "support/trace_support.h"
#include "tandem/variable.h"

namespace tandem::testing {

struct RandomGraphOptions {
  int steps = 25;
  bool variables = true;
  bool control_flow = true;
  /// The first dimension of the arguments is not known when the program is traced.
  bool unknown_batch = false;
};

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

  const Graph& graph() const { return graph_; }
  const Tensors& arguments() const { return arguments_; }
  /// What running the program eagerly gave: results, then the contents of the variables.
  const Tensors& expected() const { return expected_; }

  /// Runs a graph made of this one by `run`, from the initial contents of the variables;
  /// gives its results and the contents of the variables afterwards.
  Tensors run(const Graph& graph,
              const std::function<Tensors(const Graph&, const Tensors&)>& run);

 private:
  class Generator;
  Graph graph_;
  Tensors arguments_;
  Tensors expected_;
  std::vector<Variable> variables_;
  Tensors initial_;
};

/// The graph with every op asked for on some device, or on none in particular.
Graph scattered(const Graph& graph, std::mt19937_64& random);

/// Where two lists of tensors differ by more than `tolerance` (relative, at least
/// absolute), in words; empty when nowhere. NaN equals NaN.
std::string difference_of(const Tensors& got, const Tensors& expected,
                          double tolerance = 2e-4);

}  // namespace tandem::testing
