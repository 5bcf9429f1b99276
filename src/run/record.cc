#include "tandem/record.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/recorder.h"
#include "base/recording_source.h"
#include "device/runtime.h"
#include "tandem/device.h"

namespace tandem {

namespace {
std::atomic<int64_t> g_start_ns{0};

std::string device_of_lane(const char* lane) {
  const std::string text = lane;
  return text.substr(0, text.find('/'));
}

/// What a device says that it did are its ops and copies; what the host did for them is
/// then another thing.
const char* kind_name(const recorder::Event& e, const std::set<std::string>& reporting) {
  static constexpr const char* kNames[] = {"op",   "copy", "alloc", "free",
                                           "wait", "plan", "mark"};
  if (e.kind == recorder::Kind::kActivity) return e.bytes ? "copy" : "op";
  const bool work = e.kind == recorder::Kind::kOp || e.kind == recorder::Kind::kCopy;
  if (work && reporting.contains(device_of_lane(e.lane))) return "enqueue";
  return kNames[static_cast<size_t>(e.kind)];
}
}  // namespace

void start_recording() {
  g_start_ns = recorder::now_ns();
  recorder::start();
  for (recorder::Source* source : recorder::sources()) source->start();
}

std::vector<RecordedEvent> stop_recording() {
  const std::vector<recorder::Source*> sources = recorder::sources();
  if (!sources.empty() && Runtime::get().initialized()) synchronize();
  for (recorder::Source* source : sources) source->stop();
  recorder::stop();
  const int64_t start = g_start_ns;
  const std::vector<recorder::Event> events = recorder::collect();
  std::set<std::string> reporting;
  for (const recorder::Event& e : events) {
    if (e.kind == recorder::Kind::kActivity) reporting.insert(device_of_lane(e.lane));
  }
  std::vector<RecordedEvent> result;
  for (const recorder::Event& e : events) {
    if (e.kind == recorder::Kind::kLaunch) continue;  // for profiles
    result.push_back({kind_name(e, reporting), e.name, e.lane,
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
