#include "op/summary_sink.h"

#include <map>
#include <mutex>
#include <random>

namespace tandem {

namespace {
struct Sinks {
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<SummarySink>> by_number;
};
/// Never destroyed: functions may run while the process exits.
Sinks& sinks() {
  static Sinks* const all = new Sinks;
  return *all;
}
}  // namespace

int64_t add_summary_sink(std::shared_ptr<SummarySink> sink) {
  static std::random_device device;
  Sinks& all = sinks();
  const std::lock_guard lock(all.mutex);
  for (;;) {
    const uint64_t number = (static_cast<uint64_t>(device()) << 32 | device()) >> 1;
    const auto [found, added] = all.by_number.emplace(static_cast<int64_t>(number), sink);
    if (added) return found->first;
  }
}

void remove_summary_sink(int64_t number) {
  Sinks& all = sinks();
  std::shared_ptr<SummarySink> last;  // declared before the lock: goes after it
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.by_number.find(number); found != all.by_number.end()) {
    last = std::move(found->second);
    all.by_number.erase(found);
  }
}

std::shared_ptr<SummarySink> summary_sink(int64_t number) {
  Sinks& all = sinks();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_number.find(number);
  return found == all.by_number.end() ? nullptr : found->second;
}

}  // namespace tandem
