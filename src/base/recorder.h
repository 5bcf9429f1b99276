// The one event recorder (design, decision 23): dispatch, copies, allocations, streams
// and plans report here; profiler, placement costs and summaries read it. One relaxed
// load when off. Any thread may record; events of a thread are kept in its own buffer
// until collected.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::recorder {

/// kActivity: what a device says that it did, and when (base/recording_source.h).
enum class Kind : uint8_t { kOp, kCopy, kAlloc, kFree, kWait, kPlan, kMark, kActivity };

struct Event {
  Kind kind;
  const char* name;  // static storage: op names, "H2D", …
  const char* lane;  // static storage for the life of the runtime: device + stream name
  int64_t begin_ns;  // steady clock
  int64_t end_ns;
  int64_t bytes;
  uint64_t thread;
  /// Static storage, may be null: of an op, the line of the user's program; of a mark
  /// or an activity, its values as "name=value" lines.
  const char* detail;
};

namespace detail {
extern std::atomic<bool> enabled;
}
inline bool enabled() { return detail::enabled.load(std::memory_order_relaxed); }

int64_t now_ns();
void record(Kind kind, const char* name, const char* lane, int64_t begin_ns,
            int64_t end_ns, int64_t bytes, const char* detail = nullptr);

/// The line of the user's program that this thread executes, for events that bring no
/// detail of their own; null where nobody knows. Returns the one before.
const char* set_site(const char* site);
const char* site();
/// Starts or stops recording; starting forgets earlier events.
void start();
void stop();
/// All events so far, ordered by begin.
std::vector<Event> collect();

/// A string that lives as long as the process, for names built at run time.
const char* intern(const std::string& text);

}  // namespace tandem::recorder
