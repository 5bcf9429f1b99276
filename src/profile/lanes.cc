#include "profile/lanes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tandem::profile {

namespace {

constexpr const char* kProgram = "Program";

// A lane of the recorder is a device and perhaps a stream of it: "GPU:0/compute".
std::pair<std::string, std::string> split(const std::string& lane) {
  const size_t slash = lane.find('/');
  if (slash == std::string::npos) return {lane, ""};
  return {lane.substr(0, slash), lane.substr(slash + 1)};
}

/// Rows of streams that did several things at once.
class Overlaps {
 public:
  /// The first row of the lane that is free when the event begins, from 0.
  size_t row(const recorder::Event& e) {
    std::vector<int64_t>& ends = ends_[e.lane];
    size_t at = 0;
    while (at < ends.size() && ends[at] > e.begin_ns) ++at;
    if (at == ends.size()) ends.push_back(0);
    ends[at] = e.end_ns;
    return at;
  }

 private:
  std::map<std::string, std::vector<int64_t>> ends_;
};

std::string row_name(const recorder::Event& e, const std::string& stream) {
  switch (e.kind) {
    case recorder::Kind::kMark:
      return fmt::format("thread {}", e.thread);
    case recorder::Kind::kWait:
      return fmt::format("waits of thread {}", e.thread);
    case recorder::Kind::kCopy:
      // Copies of a device have streams of their own.
      return stream.empty() ? fmt::format("copies by thread {}", e.thread) : stream;
    case recorder::Kind::kPlan:
      return stream.empty() ? fmt::format("compiling by thread {}", e.thread) : stream;
    default:
      return stream.empty() ? fmt::format("compute by thread {}", e.thread) : stream;
  }
}

}  // namespace

std::set<std::string> reporting_devices(const Profile::State& state) {
  std::set<std::string> devices;
  for (const recorder::Event& e : state.events) {
    if (e.kind == recorder::Kind::kActivity) devices.insert(device_of(e));
  }
  return devices;
}

bool of_device(const recorder::Event& e, const std::set<std::string>& reporting) {
  using recorder::Kind;
  if (e.kind == Kind::kActivity) return true;
  if (e.kind != Kind::kOp && e.kind != Kind::kCopy) return false;
  const std::string device = device_of(e);
  return !device.starts_with("CPU") && !reporting.contains(device);
}

std::string device_of(const recorder::Event& e) { return split(e.lane).first; }

std::vector<Lane> lanes_of(const Profile::State& state) {
  std::map<std::pair<std::string, std::string>, Lane> lanes;
  const std::set<std::string> reporting = reporting_devices(state);
  Overlaps overlaps;
  for (const recorder::Event& e : state.events) {
    using recorder::Kind;
    if (e.kind == Kind::kAlloc || e.kind == Kind::kFree || e.kind == Kind::kLaunch) {
      continue;
    }
    const bool mark = e.kind == recorder::Kind::kMark;
    const auto [device, stream] = split(e.lane);
    const std::string owner = mark ? kProgram : device;
    std::string name = row_name(e, stream);
    if (e.kind == recorder::Kind::kActivity) {
      if (const size_t row = overlaps.row(e)) name += fmt::format(" ({})", row + 1);
    } else if (reporting.contains(device) && name == stream) {
      // The host's side of it: the stream's own row has what really happened.
      name = "enqueued on " + stream;
    }
    // The program comes first: it says what the rest is for.
    Lane& lane = lanes[{(mark ? "0" : "1") + owner, name}];
    lane.device = owner;
    lane.name = name;
    lane.of_device = of_device(e, reporting);
    lane.events.push_back(&e);
  }
  std::vector<Lane> result;
  for (auto& [key, lane] : lanes) result.push_back(std::move(lane));
  return result;
}

namespace {
bool has_values(const recorder::Event& event) {
  return event.kind == recorder::Kind::kMark || event.kind == recorder::Kind::kActivity;
}
}  // namespace

const char* source_of(const recorder::Event& event) {
  return has_values(event) ? nullptr : event.detail;
}

bool is_stage(const recorder::Event& event) {
  return event.kind == recorder::Kind::kMark && std::string_view(event.lane) == "data";
}

std::vector<std::pair<std::string, std::string>> values_of(const recorder::Event& event) {
  std::vector<std::pair<std::string, std::string>> values;
  if (!has_values(event) || !event.detail) return values;
  const std::string text = event.detail;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (const size_t equals = line.find('='); equals != std::string::npos) {
      values.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    at = end + 1;
  }
  return values;
}

const char* kind_name(recorder::Kind kind) {
  static constexpr const char* kNames[] = {"op",   "copy", "alloc",    "free",  "wait",
                                           "plan", "mark", "activity", "launch"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace tandem::profile
