#include "base/recorder.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/log.h"

namespace tandem::recorder {

namespace detail {
std::atomic<bool> enabled{false};
}

namespace {

/// Events kept in one recording, over all threads (about 160 MiB).
constexpr int64_t kMaxEvents = 2 << 20;

thread_local const char* t_site = nullptr;
thread_local uint64_t t_launch = 0;

struct Buffer {
  std::mutex mutex;  // the owner's, and shortly the collector's
  std::vector<Event> events;
  uint64_t thread = 0;
};

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Buffer>> buffers;
  uint64_t threads = 0;
  std::unordered_set<std::string> names;
  std::atomic<int64_t> count{0};
  std::atomic<uint64_t> launches{0};
  std::atomic<int64_t> steps{0};
};

/// Never destroyed: threads may record while the process exits.
Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

Buffer& this_buffer() {
  thread_local const std::shared_ptr<Buffer> mine = [] {
    auto made = std::make_shared<Buffer>();
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    made->thread = ++all.threads;
    all.buffers.push_back(made);
    return made;
  }();
  return *mine;
}

}  // namespace

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char* set_site(const char* site) { return std::exchange(t_site, site); }
const char* site() { return t_site; }

void record(Kind kind, const char* name, const char* lane, int64_t begin_ns,
            int64_t end_ns, int64_t bytes, const char* detail, const More& more) {
  if (!enabled()) return;
  if (registry().count.fetch_add(1, std::memory_order_relaxed) >= kMaxEvents) return;
  Buffer& buffer = this_buffer();
  More m = more;
  if (m.number == 0 && (kind == Kind::kOp || kind == Kind::kCopy)) m.number = t_launch;
  std::lock_guard lock(buffer.mutex);
  buffer.events.push_back({kind, name, lane, begin_ns, end_ns, bytes, buffer.thread,
                           detail ? detail : t_site, m});
}

uint64_t next_launch() {
  return registry().launches.fetch_add(1, std::memory_order_relaxed) + 1;
}
void set_launch(uint64_t number) { t_launch = number; }
int64_t next_step() { return registry().steps.fetch_add(1, std::memory_order_relaxed); }

void start() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  // Buffers that only the registry still knows belong to threads that have ended.
  std::erase_if(all.buffers, [](const auto& buffer) { return buffer.use_count() == 1; });
  for (const auto& buffer : all.buffers) {
    std::lock_guard buffer_lock(buffer->mutex);
    buffer->events.clear();
  }
  all.count.store(0, std::memory_order_relaxed);
  all.steps.store(0, std::memory_order_relaxed);
  detail::enabled.store(true, std::memory_order_relaxed);
}

void stop() { detail::enabled.store(false, std::memory_order_relaxed); }

std::vector<Event> collect() {
  Registry& all = registry();
  std::vector<Event> events;
  {
    std::lock_guard lock(all.mutex);
    for (const auto& buffer : all.buffers) {
      std::lock_guard buffer_lock(buffer->mutex);
      events.insert(events.end(), buffer->events.begin(), buffer->events.end());
    }
  }
  const int64_t lost = all.count.load(std::memory_order_relaxed) - kMaxEvents;
  if (lost > 0) {
    logging::warn("the recorder is full: " + std::to_string(lost) +
                  " events were dropped. Record a shorter time.");
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.begin_ns < b.begin_ns;
  });
  return events;
}

const char* intern(const std::string& text) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return all.names.insert(text).first->c_str();
}

}  // namespace tandem::recorder
