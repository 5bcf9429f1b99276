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
  /// Random numbers are the next ones of the pass.
  Element operator()(std::span<const Tensor> arguments, PassDraws& pass) const;

  // ---- The same in two steps, so that calls which run side by side draw the numbers
  // that they would one after the other: who calls begins them in order.
  Draws begin(std::span<const Tensor> arguments, PassDraws& pass) const;
  Element operator()(std::span<const Tensor> arguments, const Draws& draws) const;
  /// Of calls that were begun and that nobody has wanted, the first and the last.
  virtual void give_back(const Draws&, const Draws&, PassDraws&) const {}
  /// Results depend on the order in which calls run, however they are begun.
  virtual bool ordered() const = 0;
  /// It draws random numbers, or makes datasets that do.
  virtual bool random() const = 0;
  /// Equal for functions that draw from the same sequences.
  virtual const void* source() const { return this; }

  /// Values in place of captured symbolic tensors.
  virtual FunctionPtr substitute(const Substitution&) const;

 protected:
  virtual Element call(std::span<const Tensor> arguments, const Draws& draws) const = 0;
  virtual Draws take(std::span<const Tensor>, PassDraws&) const { return {}; }
};

/// `ordered`: its calls have to run one after the other, as those of a function of which
/// nothing is known.
FunctionPtr make_callable(ElementFunction function, bool ordered = true);

/// One result of a traced function: a result of its graph, or a dataset that was made in
/// the trace, whose symbolic tensors are results of the graph.
struct TracedResult {
  size_t index = 0;
  StagePtr dataset = nullptr;
  std::vector<std::pair<Tensor, size_t>> tensors = {};  // symbolic, and which result
};
/// `captures`: tensors of an enclosing trace, given as last arguments.
/// `what` names the function in errors. `random`: something that was traced with it, the
/// functions of its datasets included, draws random numbers. What datasets draw that were
/// made before is found here.
FunctionPtr make_traced_function(std::shared_ptr<CompiledFunction> function,
                                 std::vector<Tensor> captures,
                                 std::vector<TracedResult> results, std::string what,
                                 bool random);

/// The functions of a pipeline that draw random numbers, by source(), sorted.
std::vector<const void*> random_sources(const Stage& stage);
bool draws_random_numbers(const Stage& stage);

/// The one bool a predicate returned.
bool truth_of(const Element& result, const char* what);

}  // namespace tandem::data
