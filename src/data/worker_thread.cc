#include "data/worker_thread.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/core_set.h"
#include "base/single_thread.h"
#include "data/stages.h"

namespace tandem::data {

namespace {

using Clock = std::chrono::steady_clock;
// Of elements that take long to compute but not for ever.
constexpr std::chrono::seconds kPatience(3);
std::atomic<int> g_left_behind{0};

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

struct Worker::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;  // guarded by mutex
  bool left = false;   // guarded by mutex

  void end() {
    const std::lock_guard lock(mutex);
    ended = true;
    if (left) g_left_behind.fetch_sub(1);
    changed.notify_all();
  }
  bool wait_or_leave(Clock::time_point until) {
    std::unique_lock lock(mutex);
    if (changed.wait_until(lock, until, [&] { return ended; })) return true;
    left = true;
    g_left_behind.fetch_add(1);
    return false;
  }
};

Worker::Worker(const std::string& name, std::function<void()> body)
    : state_(std::make_shared<State>()) {
  thread_ = std::jthread(
      [name, lease = claim(), state = state_, body = std::move(body)]() mutable {
        name_this_thread(name);
        bind_this_thread(lease->cores());
        {
          const SingleThread alone;
          body();
        }
        body = nullptr;  // what it held may be a pass with threads
        state->end();
      });
}

// From when they were told, so that stages beside one another share the time.
void Worker::end(std::vector<Worker>& workers, Clock::time_point told) {
  const auto until = told + kPatience;
  for (Worker& w : workers) {
    if (w.state_->wait_or_leave(until)) {
      w.thread_.join();
    } else {
      w.thread_.detach();
    }
  }
  workers.clear();
}

bool Worker::left_behind() { return g_left_behind.load() > 0; }

int64_t resolve_parallelism(int64_t wanted) {
  if (wanted > 0) return wanted;
  return std::max(1, available_cores().size());
}

}  // namespace tandem::data
