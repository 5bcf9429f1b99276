// Random draws out of a function: who calls it takes the ranges of its sequences first
// and gives key and counter of each as last arguments. Calls then hold no sequence while
// they run, and the order in which they took their ranges decides the numbers. Pure
// function; any thread.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"

namespace tandem {

struct LiftedDraws {
  /// The function with two parameters more for each draw, in order: its key and counter.
  GraphPtr graph;
  /// By draw: the variable with the sequence.
  std::vector<Tensor> sequences;
  /// From the arguments without those of the draws to the blocks of each draw; null: all
  /// are known, and `known` has them.
  GraphPtr blocks;
  std::vector<int64_t> known;
};

/// Null when the function draws nothing, or when a draw cannot be lifted: one inside
/// control flow, or of a number that is computed from more than shapes.
std::unique_ptr<LiftedDraws> lift_draws(const Graph& graph);

/// Whether calls of the function have to run one after the other for their results to be
/// the same in every run: it writes variables, draws random numbers, calls back into
/// Python, or uses tables and iterators.
bool depends_on_order(const Graph& graph);

}  // namespace tandem
