// Plans whose function is gone while a device still works for them. Who drops a function
// does not wait for that: it may take long, or for ever (a loop that the device decides).
// They are deleted later: when somebody drops or makes another plan, or a device has run
// out of memory. Any thread.
#pragma once

#include <memory>

namespace tandem {

class Executable;

namespace dropped_plans {

/// No call uses it any more.
void add(std::unique_ptr<Executable> plan);
/// Deletes those whose work is over; whether there were any. The caller holds no lock of
/// an ArenaPool.
bool sweep();

/// While it lives, this thread holds such a lock: sweep() leaves everything alone.
class Keep {
 public:
  Keep();
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;
  ~Keep();
};

}  // namespace dropped_plans
}  // namespace tandem
