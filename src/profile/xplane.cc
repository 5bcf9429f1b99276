// Numbers of fields are those of xplane.proto.
#include "profile/xplane.h"

#include <algorithm>
#include <charconv>

namespace tandem::profile {

namespace {
constexpr int64_t kPicosPerNano = 1000;
}

XPlane::XPlane(int64_t id, const std::string& name, int64_t wall_start_ns)
    : wall_start_ns_(wall_start_ns) {
  plane_.integer(1, id);
  plane_.text(2, name);
}

WireMessage XPlane::event(const std::string& name, int64_t begin_ns, int64_t end_ns) {
  WireMessage message;
  message.integer(1, event_names_.number(name));
  message.integer(2, std::max<int64_t>(begin_ns, 0) * kPicosPerNano);
  message.integer(3, (end_ns - std::max<int64_t>(begin_ns, 0)) * kPicosPerNano);
  return message;
}

void XPlane::value(WireMessage& event, const std::string& name, double value) {
  WireMessage message;
  message.integer(1, stat_names_.number(name));
  message.number(2, value);
  event.message(kEventStats, message);
}

void XPlane::parsed_value(WireMessage& event, const std::string& name,
                          const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end) {
    value(event, name, number);
  } else {
    value(event, name, text);
  }
}

void XPlane::add_line(int64_t id, const std::string& name,
                      const std::vector<WireMessage>& events) {
  WireMessage line;
  line.integer(1, id);
  line.text(2, name);
  line.integer(3, wall_start_ns_);
  for (const WireMessage& e : events) line.message(4, e);
  plane_.message(3, line);
}

WireMessage XPlane::finish() {
  event_names_.write(plane_, 4);
  stat_names_.write(plane_, 5);
  return std::move(plane_);
}

WireMessage XPlane::stat(const std::string& name, int64_t value) {
  WireMessage message;
  message.integer(1, stat_names_.number(name));
  message.integer(4, value);
  return message;
}

WireMessage XPlane::stat(const std::string& name, const std::string& text) {
  WireMessage message;
  message.integer(1, stat_names_.number(name));
  message.integer(7, stat_names_.number(text));
  return message;
}

int64_t XPlane::Names::number(const std::string& name) {
  const auto [found, added] =
      numbers_.emplace(name, static_cast<int64_t>(numbers_.size() + 1));
  return found->second;
}

void XPlane::Names::write(WireMessage& plane, int field) const {
  for (const auto& [name, number] : numbers_) {
    WireMessage entry, value;
    value.integer(1, number);
    value.text(2, name);
    entry.integer(1, number);
    entry.message(2, value);
    plane.message(field, entry);
  }
}

}  // namespace tandem::profile
