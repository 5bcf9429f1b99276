// Functions of elements inside descriptions: a compiled function with what it captured,
// or a callable. Immutable; called from any thread, and several at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/stage.h"

namespace tandem {
class CompiledFunction;
}

namespace tandem::data {

class UserFunction;
using FunctionPtr = std::shared_ptr<const UserFunction>;

class UserFunction : public std::enable_shared_from_this<UserFunction> {
 public:
  UserFunction() = default;
  UserFunction(const UserFunction&) = delete;
  UserFunction& operator=(const UserFunction&) = delete;
  virtual ~UserFunction() = default;

  /// Runs on the CPU whatever the caller's device scope, eagerly even while the caller
  /// traces, and unseen by its tapes: as an op of the pipeline.
  Element operator()(std::span<const Tensor> arguments) const;
  /// Values in place of captured symbolic tensors.
  virtual FunctionPtr substitute(const Substitution&) const { return shared_from_this(); }

 protected:
  virtual Element call(std::span<const Tensor> arguments) const = 0;
};

FunctionPtr make_callable(ElementFunction function);

/// One result of a traced function: a result of its graph, or a dataset that was made in
/// the trace, whose symbolic tensors are results of the graph.
struct TracedResult {
  size_t index = 0;
  StagePtr dataset = nullptr;
  std::vector<std::pair<Tensor, size_t>> tensors = {};  // symbolic, and which result
};
/// `captures`: tensors of an enclosing trace, given as last arguments.
/// `what` names the function in errors.
FunctionPtr make_traced_function(std::shared_ptr<CompiledFunction> function,
                                 std::vector<Tensor> captures,
                                 std::vector<TracedResult> results, std::string what);

/// The one bool a predicate returned.
bool truth_of(const Element& result, const char* what);

}  // namespace tandem::data
