// InstalledPlans: the plans of one function for arguments of one kind, ready to run.
// Calls use one of them; another can take its place between two calls, while others are
// under way: each keeps the plan that it has begun with. Number 0 is the first. Nothing
// is removed before the whole. Any thread.
//
// While kernels of the first plan are being compiled, a plan of single ops may stand in
// for it, whose kernels are there: calls use that one, and the first call that begins
// when the kernels are loaded installs the first plan.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "run/arena_pool.h"
#include "run/executable.h"

namespace tandem {

class InstalledPlans {
 public:
  /// Plans `source` and uses that. `devices`: of the arguments. `single_ops`: the same
  /// computation as `source` without fused regions, which may stand in; null: calls wait
  /// for the compiler. `pool`: whose memory the plans use.
  InstalledPlans(Graph source, std::vector<Device*> devices, const PlanOptions& options,
                 std::shared_ptr<ArenaPool> pool, const Graph* single_ops = nullptr);

  InstalledPlans(const InstalledPlans&) = delete;
  InstalledPlans& operator=(const InstalledPlans&) = delete;
  /// Does not wait for devices (run/dropped_plans.h).
  ~InstalledPlans();

  /// For a call that begins now.
  Executable& current() {
    if (stands_in_.load(std::memory_order_acquire)) take_over();
    return *current_.load(std::memory_order_acquire);
  }
  /// What the last calls used; for those who only look.
  const Executable& running() const { return *current_.load(std::memory_order_acquire); }
  /// The function's own plan, as it is known before the first call.
  const PlannedGraph& own() const { return *own_; }
  /// Says whether single ops stand in, or did, and why; empty: nothing had to be
  /// compiled.
  std::string describe() const;

  // ---- What follows waits until nothing stands in any more.

  /// The same graph in another way; not installed by that.
  std::shared_ptr<const PlannedGraph> plan(const PlanOptions& options);
  /// Returns its number. Throws InvalidArgumentError when the plan takes or gives
  /// something else, or touches other variables.
  size_t install(std::shared_ptr<const PlannedGraph> plan);
  /// Throws OutOfRangeError when there is no plan of that number.
  void use(size_t number);
  size_t size();

 private:
  std::shared_ptr<const PlannedGraph> make(const PlanOptions& options) const;
  std::string find_stand_in(const Graph& single_ops);
  void take_over();
  void settle();
  void install_own();

  // What every call reads, side by side (run/executable.h).
  std::atomic<Executable*> current_{nullptr};
  std::atomic<bool> stands_in_{false};

  const Graph source_;
  const std::vector<Device*> devices_;
  const PlanOptions options_;
  const std::shared_ptr<ArenaPool> pool_;
  std::shared_ptr<const PlannedGraph> own_;

  std::unique_ptr<Executable> stand_in_;
  std::string why_;                   // it stands in, or calls waited
  std::atomic<int64_t> stood_in_{0};  // for so many calls
  std::mutex taking_over_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Executable>> all_;  // guarded by mutex_
};

}  // namespace tandem
