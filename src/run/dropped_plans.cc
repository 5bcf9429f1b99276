#include "run/dropped_plans.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <vector>

#include "device/stream.h"
#include "device/wait_until_passed.h"
#include "run/executable.h"
#include "tensor/buffer.h"

namespace tandem::dropped_plans {

namespace {

using Plans = std::vector<std::unique_ptr<Executable>>;

struct Dropped {
  std::mutex mutex;
  Plans plans;  // guarded by mutex
};
/// Never destroyed: what a device is about at the end of the process stays.
Dropped& dropped() {
  static auto* const all = new Dropped;
  return *all;
}

thread_local int t_keeping = 0;

/// Their memory should be back when the function is gone, if that is soon.
constexpr std::chrono::milliseconds kPatience(500);

Plans take_finished() {
  Plans finished;
  Dropped& all = dropped();
  const std::lock_guard lock(all.mutex);
  const auto first =
      std::partition(all.plans.begin(), all.plans.end(),
                     [](const auto& plan) { return !plan->open_work().empty(); });
  std::move(first, all.plans.end(), std::back_inserter(finished));
  all.plans.erase(first, all.plans.end());
  return finished;
}

bool any_left() {
  Dropped& all = dropped();
  const std::lock_guard lock(all.mutex);
  return !all.plans.empty();
}

[[maybe_unused]] const bool g_installed = (Buffer::set_give_back([] { sweep(); }), true);

}  // namespace

void add(std::unique_ptr<Executable> plan) {
  if (!plan) return;
  sweep();
  // A device that is busy with those before it will not be done with this one.
  const std::vector<TimePoint> work = plan->open_work();
  if (work.empty()) return;
  if (!any_left() && !on_stream_thread && pass_within(work, kPatience)) return;
  // What is deleted later, wherever that is, takes no lock of other plans.
  plan->leave_pool();
  Dropped& all = dropped();
  const std::lock_guard lock(all.mutex);
  all.plans.push_back(std::move(plan));
}

// Deleted without the lock: functions may hold functions.
bool sweep() { return !t_keeping && !take_finished().empty(); }

Keep::Keep() { ++t_keeping; }
Keep::~Keep() { --t_keeping; }

}  // namespace tandem::dropped_plans
