// InstalledPlans: the plans of one function for arguments of one kind, ready to run.
// Calls use one of them; another can take its place between two calls, while others are
// under way: each keeps the plan that it has begun with. Number 0 is the first. Nothing
// is removed before the whole. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "run/executable.h"

namespace tandem {

class InstalledPlans {
 public:
  /// Plans `source` and uses that. `devices`: of the arguments.
  InstalledPlans(Graph source, std::vector<Device*> devices, const PlanOptions& options);

  Executable& current() const { return *current_.load(std::memory_order_acquire); }

  /// The same graph in another way; not installed by that.
  std::shared_ptr<const PlannedGraph> plan(const PlanOptions& options) const;
  /// Returns its number. Throws InvalidArgumentError when the plan takes or gives
  /// something else, or touches other variables.
  size_t install(std::shared_ptr<const PlannedGraph> plan);
  /// Throws OutOfRangeError when there is no plan of that number.
  void use(size_t number);
  size_t size() const;

 private:
  const Graph source_;
  const std::vector<Device*> devices_;
  const bool deterministic_;
  std::atomic<Executable*> current_{nullptr};
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Executable>> all_;  // guarded by mutex_
};

}  // namespace tandem
