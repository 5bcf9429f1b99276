// Boundary: the nodes between two stages of a function, whose output sizes are known only
// when they have run. Ops go through the eager dispatcher; branches and loops over values
// of changing shape run their sub-graphs as functions. Any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tandem {

class GraphFunction;
struct GraphFunctionOptions;

class Boundary {
 public:
  Boundary(Graph graph, const GraphFunctionOptions& options);
  Boundary(const Boundary&) = delete;
  Boundary& operator=(const Boundary&) = delete;
  ~Boundary();
  /// The graph's results for arguments in the order of its parameters.
  std::vector<Tensor> run(std::span<const Tensor> arguments);
  /// One line per node.
  std::string describe() const;

 private:
  std::vector<Tensor> run_control_flow(int32_t node, std::span<const Tensor> inputs);
  Graph graph_;
  std::vector<std::vector<std::unique_ptr<GraphFunction>>> functions_;  // by node
};

}  // namespace tandem
