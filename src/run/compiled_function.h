// CompiledFunction: a graph that can be called, differentiated, and called on a tape: the
// call is one node there, whose gradient is a compiled function again, so that any order
// of derivatives runs compiled. A recorded call runs forward once: it saves what
// gradients of the order that the tapes can ask for read. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "run/graph_function.h"

namespace tandem {

class CompiledFunction : public std::enable_shared_from_this<CompiledFunction> {
 public:
  CompiledFunction(GraphPtr graph, GraphFunctionOptions options);

  /// The results for arguments in the order of the graph's parameters; recorded on the
  /// thread's tapes.
  std::vector<Tensor> call(std::span<const Tensor> arguments);
  /// The same into places of the caller's, one per result.
  void call(std::span<const Tensor> arguments, std::span<Tensor> results);
  GraphFunction& function() { return function_; }
  /// The memory of its plans, for functions that share it.
  const std::shared_ptr<ArenaPool>& pool() const { return options_.pool; }
  /// The last plan, and those of calls on a tape with their gradients.
  std::string explain();

 private:
  struct Derivative;
  using Orders = std::vector<std::shared_ptr<Derivative>>;
  std::vector<Tensor> call_recorded(std::span<const Tensor> arguments);
  std::shared_ptr<Derivative> derivative(const std::vector<ValueRef>& wanted);
  static void save(Derivative& d, Graph& forward);
  static std::vector<Gradient> pull_back(const Orders& orders,
                                         std::span<const Gradient> grads,
                                         std::span<const Tensor> given,
                                         std::span<const Tensor> outputs);

  const GraphFunctionOptions options_;
  GraphFunction function_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Derivative>> derivatives_;  // guarded by mutex_
};

}  // namespace tandem
