// Control flow on tensors. Eagerly the predicate is read on the host and the chosen
// function runs at once; inside a traced function both become structured nodes whose
// branches and bodies are traced once. Gradients of any order flow through both.
#pragma once

#include <concepts>
#include <functional>
#include <utility>
#include <vector>

#include "tandem/tensor.h"

namespace tandem {

/// A value of the wrong kind given to a function (Python: TypeError).
class TypeError : public InvalidArgumentError {
 public:
  using InvalidArgumentError::InvalidArgumentError;
};

using BranchFn = std::function<std::vector<Tensor>()>;

/// `then_branch()` where the predicate (one element; numbers count as true unless 0)
/// holds, else `else_branch()`. Traced branches must return equally many tensors of equal
/// dtypes; dimensions in which they differ are unknown afterwards.
std::vector<Tensor> cond(const Tensor& predicate, const BranchFn& then_branch,
                         const BranchFn& else_branch);
/// The same for branches that return one tensor.
template <std::invocable Then, std::invocable Else>
  requires(std::convertible_to<std::invoke_result_t<Then>, Tensor> &&
           std::convertible_to<std::invoke_result_t<Else>, Tensor>)
Tensor cond(const Tensor& predicate, const Then& then_branch, const Else& else_branch) {
  return cond(predicate, BranchFn([&] { return std::vector<Tensor>{then_branch()}; }),
              BranchFn([&] { return std::vector<Tensor>{else_branch()}; }))[0];
}

/// `branches[index]()`; an index out of range takes the last branch.
std::vector<Tensor> switch_case(const Tensor& index,
                                const std::vector<BranchFn>& branches);

struct CaseOptions {
  /// Runs when no predicate holds; without it that is an InvalidArgumentError.
  BranchFn otherwise = nullptr;
  /// More than one predicate that holds is an InvalidArgumentError.
  bool exclusive = false;
};
/// The function of the first predicate that holds (tf.case).
std::vector<Tensor> case_of(const std::vector<std::pair<Tensor, BranchFn>>& cases,
                            const CaseOptions& options = {});

using LoopConditionFn = std::function<Tensor(const std::vector<Tensor>&)>;
using LoopBodyFn = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct WhileOptions {
  /// The loop ends after as many turns; negative: no limit.
  int64_t maximum_iterations = -1;
  /// What stays true of the shape of each loop variable; empty: the shape it starts with.
  std::vector<Shape> shape_invariants = {};
};

/// Calls `body` on the loop's variables while `condition` of them holds.
std::vector<Tensor> while_loop(const LoopConditionFn& condition, const LoopBodyFn& body,
                               const std::vector<Tensor>& loop_vars,
                               const WhileOptions& options = {});

}  // namespace tandem
