// The XSpace message of TensorBoard's profile page: a plane for each device, lines with
// events, names and values of events in tables of the plane; notes are its warnings.
#include <charconv>

#include <unistd.h>

#include "base/wire.h"
#include "profile/lanes.h"

namespace tandem {

namespace {

/// Numbers for names, from 1, in order of first use.
class Names {
 public:
  int64_t number(const std::string& name) {
    const auto [found, added] =
        numbers_.emplace(name, static_cast<int64_t>(numbers_.size() + 1));
    return found->second;
  }
  /// As a map field: entries of key 1 and value 2, which repeats number and name.
  void write(WireMessage& plane, int field) const {
    for (const auto& [name, number] : numbers_) {
      WireMessage entry, value;
      value.integer(1, number);
      value.text(2, name);
      entry.integer(1, number);
      entry.message(2, value);
      plane.message(field, entry);
    }
  }

 private:
  std::map<std::string, int64_t> numbers_;
};

class PlaneWriter {
 public:
  PlaneWriter(const Profile::State& state, int64_t id, const std::string& name)
      : state_(state) {
    plane_.integer(1, id);
    plane_.text(2, name);
  }

  void add(const profile::Lane& lane) {
    WireMessage line;
    line.integer(1, ++lines_);
    line.text(2, lane.device + "/" + lane.name);
    line.integer(3, state_.wall_start_ns);
    for (const recorder::Event* e : lane.events) line.message(4, event(*e));
    plane_.message(3, line);
  }

  WireMessage finish() {
    event_names_.write(plane_, 4);
    stat_names_.write(plane_, 5);
    return plane_;
  }

 private:
  static constexpr int64_t kPicosPerNano = 1000;

  WireMessage event(const recorder::Event& e) {
    WireMessage message;
    message.integer(1, event_names_.number(e.name));
    message.integer(2, (e.begin_ns - state_.start_ns) * kPicosPerNano);
    message.integer(3, (e.end_ns - e.begin_ns) * kPicosPerNano);
    if (e.bytes) message.message(4, stat("bytes", std::to_string(e.bytes)));
    if (const char* source = profile::source_of(e)) {
      message.message(4, stat("source", source));
    }
    for (const auto& [name, value] : profile::values_of(e)) {
      message.message(4, stat(name, value));
    }
    return message;
  }

  WireMessage stat(const std::string& name, const std::string& text) {
    WireMessage message;
    message.integer(1, stat_names_.number(name));
    int64_t number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) {
      message.integer(4, number);
    } else {
      message.text(5, text);
    }
    return message;
  }

  const Profile::State& state_;
  WireMessage plane_;
  Names event_names_, stat_names_;
  int64_t lines_ = 0;
};

/// The host's lanes are one plane, as TensorFlow's are.
std::string plane_name(const std::string& device) {
  const bool host = device == "Program" || device.starts_with("CPU");
  return host ? "/host:CPU" : "/device:" + device;
}

}  // namespace

std::string Profile::xspace() const {
  std::map<std::string, PlaneWriter> planes;
  for (const profile::Lane& lane : profile::lanes_of(*state_)) {
    const std::string name = plane_name(lane.device);
    planes.try_emplace(name, *state_, static_cast<int64_t>(planes.size()), name)
        .first->second.add(lane);
  }
  WireMessage space;
  for (auto& [name, plane] : planes) space.message(1, plane.finish());
  for (const std::string& note : state_->notes) space.text(3, note);
  char host[256] = {};
  space.text(4, gethostname(host, sizeof host - 1) == 0 ? host : "localhost");
  return space.bytes();
}

}  // namespace tandem
