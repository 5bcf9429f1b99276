#include "profile/lanes.h"

#include <algorithm>

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

std::string row_name(const recorder::Event& e, const std::string& stream) {
  switch (e.kind) {
    case recorder::Kind::kMark:
      return fmt::format("thread {}", e.thread);
    case recorder::Kind::kWait:
      return fmt::format("waits of thread {}", e.thread);
    case recorder::Kind::kCopy:
      // Copies of a device have streams of their own.
      return stream.empty() ? fmt::format("copies by thread {}", e.thread) : stream;
    default:
      return stream.empty() ? fmt::format("compute by thread {}", e.thread) : stream;
  }
}

}  // namespace

std::vector<Lane> lanes_of(const Profile::State& state) {
  std::map<std::pair<std::string, std::string>, Lane> lanes;
  for (const recorder::Event& e : state.events) {
    if (e.kind == recorder::Kind::kAlloc || e.kind == recorder::Kind::kFree) continue;
    const bool mark = e.kind == recorder::Kind::kMark;
    const auto [device, stream] = split(e.lane);
    const std::string owner = mark ? kProgram : device;
    const std::string name = row_name(e, stream);
    // The program comes first: it says what the rest is for.
    Lane& lane = lanes[{(mark ? "0" : "1") + owner, name}];
    lane.device = owner;
    lane.name = name;
    lane.events.push_back(&e);
  }
  std::vector<Lane> result;
  for (auto& [key, lane] : lanes) result.push_back(std::move(lane));
  return result;
}

std::vector<std::pair<std::string, std::string>> values_of(const recorder::Event& event) {
  std::vector<std::pair<std::string, std::string>> values;
  if (event.kind != recorder::Kind::kMark || !event.detail) return values;
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
  static constexpr const char* kNames[] = {"op",   "copy", "alloc", "free",
                                           "wait", "plan", "mark"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace tandem::profile
