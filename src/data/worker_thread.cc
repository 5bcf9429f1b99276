#include "data/worker_thread.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/core_set.h"
#include "base/single_thread.h"
#include "data/stages.h"

namespace tandem::data {

namespace {

// Pipelines use any core of the process: their threads fill what the step leaves idle.
std::shared_ptr<CoreLease> claim() {
  static std::mutex mutex;
  static std::weak_ptr<CoreLease> current;
  const std::lock_guard lock(mutex);
  auto lease = current.lock();
  if (!lease) {
    lease = std::make_shared<CoreLease>("data workers", available_cores());
    current = lease;
  }
  return lease;
}

}  // namespace

std::jthread start_worker(const std::string& name, std::function<void()> body) {
  return std::jthread([name, lease = claim(), body = std::move(body)] {
    name_this_thread(name);
    bind_this_thread(lease->cores());
    const SingleThread alone;
    body();
  });
}

int64_t resolve_parallelism(int64_t wanted) {
  if (wanted > 0) return wanted;
  return std::max(1, available_cores().size());
}

}  // namespace tandem::data
