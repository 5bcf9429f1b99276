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
/// kLaunch: a host thread hands work to a stream.
enum class Kind : uint8_t {
  kOp,
  kCopy,
  kAlloc,
  kFree,
  kWait,
  kPlan,
  kMark,
  kActivity,
  kLaunch
};

/// What only some events have.
struct More {
  /// Of an op: its node, "function/scope/MatMul_1", static storage; null: none.
  const char* node = nullptr;
  /// Of a launch: a number of its own. Of what was launched: the launch's; 0: nobody
  /// knows. Of an allocation and its end: the address.
  uint64_t number = 0;
};

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
  More more;
};

namespace detail {
extern std::atomic<bool> enabled;
}
inline bool enabled() { return detail::enabled.load(std::memory_order_relaxed); }

int64_t now_ns();
void record(Kind kind, const char* name, const char* lane, int64_t begin_ns,
            int64_t end_ns, int64_t bytes, const char* detail = nullptr,
            const More& more = {});

/// The line of the user's program that this thread executes, for events that bring no
/// detail of their own; null where nobody knows. Returns the one before.
const char* set_site(const char* site);
const char* site();
/// A number for work that is about to be launched, unique in the process.
uint64_t next_launch();
/// Ops and copies that this thread records are of that launch from now on; 0: of none.
void set_launch(uint64_t number);
/// The same for a scope; 0: nothing changes.
class LaunchScope {
 public:
  explicit LaunchScope(uint64_t number) : on_(number != 0) {
    if (on_) set_launch(number);
  }
  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;
  ~LaunchScope() {
    if (on_) set_launch(0);
  }

 private:
  const bool on_;
};
/// Numbers the steps of a training loop from the start of the recording.
int64_t next_step();
/// Starts or stops recording; starting forgets earlier events.
void start();
void stop();
/// All events so far, ordered by begin.
std::vector<Event> collect();

/// A string that lives as long as the process, for names built at run time.
const char* intern(const std::string& text);

/// What a consumer's wait for its next batch is called: TensorBoard's pages know that
/// name.
inline constexpr const char* kInputWait = "IteratorGetNextOp::DoCompute";

/// Records that this thread takes a batch, from now to the end of the scope.
class InputWait {
 public:
  InputWait() : begin_(enabled() ? now_ns() : 0) {}
  InputWait(const InputWait&) = delete;
  InputWait& operator=(const InputWait&) = delete;
  ~InputWait() {
    if (begin_) record(Kind::kMark, kInputWait, "data", begin_, now_ns(), 0, "");
  }

 private:
  const int64_t begin_;
};

}  // namespace tandem::recorder
