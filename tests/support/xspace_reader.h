// Reads XSpace messages for tests: planes with lines of events, whose names and values
// are looked up in the tables of the plane.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tandem::testing {

/// The fields of a protocol-buffer message by number: numbers as they are (of doubles the
/// bits), all else as bytes.
class WireFields {
 public:
  explicit WireFields(const std::string& bytes) : bytes_(bytes) {
    while (at_ < bytes_.size()) read();
  }
  uint64_t number(int field) const {
    const auto found = numbers_.find(field);
    return found == numbers_.end() ? 0 : found->second.back();
  }
  bool has(int field) const { return numbers_.contains(field); }
  const std::vector<std::string>& texts(int field) const {
    static const std::vector<std::string> kNone;
    const auto found = texts_.find(field);
    return found == texts_.end() ? kNone : found->second;
  }
  std::string text(int field) const {
    return texts(field).empty() ? std::string() : texts(field).back();
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_.at(at_++));
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  void read() {
    const uint64_t key = varint();
    const int field = static_cast<int>(key >> 3);
    if ((key & 7) == 0) {
      numbers_[field].push_back(varint());
    } else if ((key & 7) == 2) {
      const uint64_t size = varint();
      texts_[field].push_back(bytes_.substr(at_, size));
      at_ += size;
    } else {
      at_ += (key & 7) == 1 ? 8 : 4;
      numbers_[field].push_back(0);
    }
  }

  const std::string bytes_;
  size_t at_ = 0;
  std::map<int, std::vector<uint64_t>> numbers_;
  std::map<int, std::vector<std::string>> texts_;
};

struct SpaceEvent {
  std::string name;
  int64_t begin = 0, end = 0;  // ns
  std::map<std::string, std::string> values;

  bool holds(const SpaceEvent& other) const {
    return begin <= other.begin && other.end <= end;
  }
};

struct SpacePlane {
  std::map<std::string, std::vector<SpaceEvent>> lines;
  std::map<std::string, std::string> values;

  std::vector<SpaceEvent> named(const std::string& name) const {
    std::vector<SpaceEvent> found;
    for (const auto& [line, events] : lines) {
      for (const SpaceEvent& e : events) {
        if (e.name == name) found.push_back(e);
      }
    }
    return found;
  }
};

/// Planes by name.
inline std::map<std::string, SpacePlane> read_space(const std::string& bytes) {
  const auto names = [](const WireFields& plane, int field) {
    std::map<uint64_t, std::string> made;
    for (const std::string& entry : plane.texts(field)) {
      const WireFields value(WireFields(entry).text(2));
      made[value.number(1)] = value.text(2);
    }
    return made;
  };
  std::map<std::string, SpacePlane> planes;
  const WireFields space(bytes);
  for (const std::string& text : space.texts(1)) {
    const WireFields plane(text);
    const auto event_names = names(plane, 4), stat_names = names(plane, 5);
    const auto values = [&](const std::vector<std::string>& stats) {
      std::map<std::string, std::string> made;
      for (const std::string& s : stats) {
        const WireFields stat(s);
        made[stat_names.at(stat.number(1))] =
            stat.has(7) ? stat_names.at(stat.number(7)) : std::to_string(stat.number(4));
      }
      return made;
    };
    SpacePlane& made = planes[plane.text(2)];
    made.values = values(plane.texts(6));
    for (const std::string& l : plane.texts(3)) {
      const WireFields line(l);
      auto& events = made.lines[line.text(2)];
      for (const std::string& e : line.texts(4)) {
        const WireFields event(e);
        const auto begin = static_cast<int64_t>(event.number(2) / 1000);
        events.push_back({event_names.at(event.number(1)), begin,
                          begin + static_cast<int64_t>(event.number(3) / 1000),
                          values(event.texts(4))});
      }
    }
  }
  return planes;
}

}  // namespace tandem::testing
