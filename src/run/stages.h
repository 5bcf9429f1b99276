// Cutting a specialised graph where sizes depend on data: the part that can be planned
// now, the nodes that have to run before more is known, and the rest. Pure; any thread.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace tandem {

/// A value handed from one part to another, as a parameter of the later one.
struct StageInput {
  enum class From : uint8_t { kArgument, kPlanned, kBoundary };
  From from = From::kArgument;
  int32_t index = 0;  // argument, result of the planned part, or result of the boundary
};

struct Stages {
  /// Everything that can be planned; its results are what the others and the caller need.
  Graph planned;
  bool whole = true;  // nothing is left
  /// Nodes that cannot be planned, but whose inputs are there: run one by one.
  Graph boundary;
  std::vector<StageInput> boundary_inputs;  // by parameter that is no state
  Graph rest;
  std::vector<StageInput> rest_inputs;
};

/// Whether a node can be part of a plan: shapes known, host inputs constant, no strings.
bool can_plan(const Graph& graph, const Node& node);

Stages cut_stages(const Graph& graph);

}  // namespace tandem
