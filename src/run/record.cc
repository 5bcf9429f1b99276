#include "tandem/record.h"

#include <algorithm>
#include <map>

#include "base/recorder.h"

namespace tandem {

namespace {
std::atomic<int64_t> g_start_ns{0};

const char* kind_name(recorder::Kind kind) {
  static constexpr const char* kNames[] = {"op",   "copy", "alloc", "free",
                                           "wait", "plan", "mark"};
  return kNames[static_cast<size_t>(kind)];
}
}  // namespace

void start_recording() {
  g_start_ns = recorder::now_ns();
  recorder::start();
}

std::vector<RecordedEvent> stop_recording() {
  recorder::stop();
  const int64_t start = g_start_ns;
  std::vector<RecordedEvent> result;
  for (const recorder::Event& e : recorder::collect()) {
    result.push_back({kind_name(e.kind), e.name, e.lane,
                      static_cast<double>(e.begin_ns - start) * 1e-9,
                      static_cast<double>(e.end_ns - start) * 1e-9, e.bytes});
  }
  return result;
}

std::vector<LaneSummary> summarize(const std::vector<RecordedEvent>& events) {
  std::map<std::string, LaneSummary> lanes;
  std::map<std::string, double> busy_until;
  // Events come ordered by begin, so one pass merges overlapping ones.
  for (const RecordedEvent& e : events) {
    const bool copy = e.kind == "copy";
    if (!copy && e.kind != "op") continue;
    LaneSummary& lane = lanes[e.lane];
    double& until = busy_until[e.lane];
    lane.lane = e.lane;
    ++lane.events;
    if (copy) lane.bytes += e.bytes;
    lane.busy += std::max(0.0, e.end - std::max(e.begin, until));
    until = std::max(until, e.end);
  }
  std::vector<LaneSummary> result;
  for (auto& [name, lane] : lanes) result.push_back(std::move(lane));
  return result;
}

}  // namespace tandem
