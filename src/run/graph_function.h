// GraphFunction: a traced graph that can be called with tensors. For each new set of
// shapes it specialises, optimises, plans and builds an executable, and keeps that. Sizes
// that depend on data cut it into stages (design, decision 24): what can be planned runs
// as a plan, then the ops that decide sizes, then the rest, planned for those sizes. Any
// thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "graph/passes/passes.h"
#include "run/arena_pool.h"
#include "run/executable.h"
#include "run/readers.h"

namespace tandem {

/// The plans that a function keeps, with those of the parts that follow where sizes cut
/// it, and what they take by themselves: constants and bookkeeping.
struct KeptPlans {
  std::atomic<int64_t> count{0};
  std::atomic<int64_t> bytes{0};
};

struct GraphFunctionOptions {
  bool optimize = true;
  bool measure_kernels = true;
  /// Of plans that are kept, those of later parts included; the last one of each stays.
  int64_t max_plans = 64;
  int64_t max_plan_bytes = int64_t{256} << 20;
  /// Memory that its plans share with those of functions that seldom run at the same time
  /// as they do (traces of one body); null: among themselves.
  std::shared_ptr<ArenaPool> pool = nullptr;
  /// Of the function that this one is a part of; null: it is none.
  std::shared_ptr<KeptPlans> kept = nullptr;
};

/// Puts results into their places; throws ValueError when there are more or fewer.
void move_results(std::vector<Tensor> results, std::span<Tensor> places,
                  const std::string& function);

class GraphFunction {
 public:
  explicit GraphFunction(GraphPtr graph, GraphFunctionOptions options = {});
  GraphFunction(const GraphFunction&) = delete;
  GraphFunction& operator=(const GraphFunction&) = delete;
  ~GraphFunction();

  const Graph& graph() const { return *graph_; }

  /// Arguments in the order of the parameters that are not states; results that are no
  /// states, undefined where the graph leaves one out. Nothing is recorded on tapes.
  std::vector<Tensor> run(std::span<const Tensor> arguments);
  /// The same into places of the caller's, one per result.
  void run(std::span<const Tensor> arguments, std::span<Tensor> results);
  /// The same when the plan of the last call fits; else nothing happens, and false.
  bool repeat(std::span<const Tensor> arguments, std::span<Tensor> results);

  // ---- Several plans for arguments of one kind (see run/installed_plans.h). Number 0 is
  // the function's own.
  /// Plans what the function runs for these arguments in another way.
  std::shared_ptr<const PlannedGraph> plan(std::span<const Tensor> arguments,
                                           const PlanOptions& options);
  /// Makes a plan ready to be used; returns its number.
  size_t install(std::span<const Tensor> arguments,
                 std::shared_ptr<const PlannedGraph> plan);
  /// Calls that begin from now on use the plan of that number.
  void use(std::span<const Tensor> arguments, size_t number);
  size_t installed(std::span<const Tensor> arguments);
  /// See Executable::replay_kernels; for arguments of the last call.
  bool replay_kernels(std::span<const Tensor> arguments, int64_t times);

  /// About the last plan that was used; empty before the first.
  std::string explain() const;
  std::string dump() const;
  std::string dot() const;
  /// Plans that are kept now.
  int64_t plans() const;

 private:
  struct Compiled;
  struct Key;
  void check_count(std::span<const Tensor> arguments) const;
  Compiled& find(std::span<const Tensor> arguments);
  std::unique_ptr<Compiled> compile(const Key& key, std::span<const Tensor> arguments);
  bool plans_by_value(size_t argument, const PartialValue& value);
  void forget_old_plans();
  std::vector<Tensor> fill_absent(std::span<const Tensor> arguments) const;

  // What every call reads, side by side (run/executable.h).
  std::atomic<Compiled*> last_{nullptr};
  Readers<std::unique_ptr<Compiled>> readers_;  // calls under way

  const std::vector<char> made_;  // by result: a branch may leave some out
  GraphPtr graph_;
  const GraphFunctionOptions options_;
  std::vector<char> value_matters_;     // by parameter: its contents decide shapes
  std::vector<char> lists_;             // by parameter: a list of tensors
  std::vector<Tensor> open_variables_;  // whose declared shape leaves dimensions open

  mutable std::mutex mutex_;                         // guards what follows
  std::vector<std::unique_ptr<Compiled>> compiled_;  // most recently found last
  /// By argument: the values that plans were made for.
  std::vector<std::vector<PartialValue>> planned_values_;
};

}  // namespace tandem
