#include "device/conditional_work.h"

#include <map>
#include <mutex>

#include "base/interrupt.h"
#include "device/device.h"
#include "tandem/error.h"

namespace tandem {

namespace {

// By address: devices live as long as the process.
struct Offers {
  std::mutex mutex;
  std::map<const Device*, bool> devices;  // and whether they have branches
};
Offers& offers() {
  static auto* const all = new Offers;
  return *all;
}

}  // namespace

void ConditionalWork::offer(const Device& device, bool branches) {
  const std::lock_guard lock(offers().mutex);
  offers().devices[&device] = branches;
}

bool ConditionalWork::offered_by(const Device& device, bool for_branches) {
  const std::lock_guard lock(offers().mutex);
  const auto found = offers().devices.find(&device);
  return found != offers().devices.end() && (found->second || !for_branches);
}

void LookingWork::repeat(const Loop& loop, Task test, Task turn) {
  test(context_);
  for (int64_t turns = 0; loop.max_turns < 0 || turns < loop.max_turns; ++turns) {
    poll_interrupt();
    if (end_ && end_->load(std::memory_order_relaxed)) {
      throw CancelledError("A loop on " + context_.device->short_name() +
                           " was interrupted: what it made is not whole.");
    }
    bool go_on = false;
    read_(&go_on, loop.go_on, sizeof(go_on));
    if (!go_on) return;
    turn(context_);
    test(context_);
  }
}

void LookingWork::choose(const Selector& selector, size_t branches, BranchTask branch) {
  int64_t value = 0;
  if (selector.bytes == 1) {
    bool first = false;
    read_(&first, selector.value, sizeof(first));
    value = first ? 0 : 1;
  } else if (selector.bytes == sizeof(int32_t)) {
    int32_t small = 0;
    read_(&small, selector.value, sizeof(small));
    value = small;
  } else {
    read_(&value, selector.value, sizeof(value));
  }
  branch(branch_of(value, branches), context_);
}

}  // namespace tandem
