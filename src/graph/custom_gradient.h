// Gradients that a user gave to part of a function (custom_gradient). On the graph that
// part ends in a call whose body hands its outputs through, with the traced gradient
// beside it: autodiff uses the gradient and never looks at the body; inlining drops both.
// Immutable once traced; any thread.
#pragma once

#include <string>
#include <vector>

#include "graph/autodiff.h"
#include "graph/graph.h"

namespace tandem {

struct CustomGradient {
  /// Parameters: the gradients of the call's outputs, then the call's operands. Results:
  /// the gradients of the first operands as `forms` says, then the states it changes.
  /// Null when the user's function failed while it was traced.
  GraphPtr graph;
  /// By operand; operands without one have no gradient.
  std::vector<GradientForm> forms;
  /// What the function failed with. It matters only to who asks for the gradient.
  std::string failure;
};

/// How many results of the graph are gradients.
size_t gradient_results(const CustomGradient& gradient);

}  // namespace tandem
