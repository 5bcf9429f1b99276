// Named ranges around what the host submits (ops, captured steps), for tools that watch a
// process from outside: a backend that has such a tool (NVTX) sets the sink. One relaxed
// load when there is none. Any thread; ranges of a thread nest.
#pragma once

#include <atomic>

namespace tandem::ranges {

struct Sink {
  void (*push)(const char* name);
  void (*pop)();
};

namespace detail {
extern std::atomic<const Sink*> sink;
}
/// The sink must live as long as the process; null: none. Ranges that are open keep
/// theirs. Returns the one before.
const Sink* set_sink(const Sink* sink);

/// The range around a copy that is no op's.
inline constexpr const char* kCopy = "copy";

class Range {
 public:
  explicit Range(const char* name) : sink_(detail::sink.load(std::memory_order_relaxed)) {
    if (sink_) sink_->push(name);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    if (sink_) sink_->pop();
  }

 private:
  const Sink* sink_;
};

}  // namespace tandem::ranges
