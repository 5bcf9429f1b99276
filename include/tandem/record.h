// What ran where, and when: ops, copies and waits as events, for programs that want to
// look at themselves. Costs one load per op while off.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

struct RecordedEvent {
  std::string kind;  // "op", "copy", "alloc", "free", "wait", "plan", "mark"
  std::string name;  // op name, "H2D", "D2H", …
  std::string lane;  // device and stream: "GPU:0/compute"
  double begin = 0;  // seconds since recording started
  double end = 0;
  int64_t bytes = 0;
};

/// Starts recording; forgets earlier events.
void start_recording();
/// Stops and returns everything recorded, ordered by begin.
std::vector<RecordedEvent> stop_recording();

/// Ops and copies of one lane.
struct LaneSummary {
  std::string lane;
  int64_t events = 0;
  double busy = 0;    // seconds, overlapping events counted once
  int64_t bytes = 0;  // copied
};
std::vector<LaneSummary> summarize(const std::vector<RecordedEvent>& events);

}  // namespace tandem
