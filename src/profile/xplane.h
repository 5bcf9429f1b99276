// XPlane: one plane of an XSpace message (TensorBoard's profile): lines of events, whose
// names and values stand in tables of the plane. Times are nanoseconds since the
// recording began. Used by one thread; finish() ends it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/wire.h"

namespace tandem::profile {

class XPlane {
 public:
  XPlane(int64_t id, const std::string& name, int64_t wall_start_ns);

  /// An event to which values are added before it goes into a line.
  WireMessage event(const std::string& name, int64_t begin_ns, int64_t end_ns);
  void value(WireMessage& event, const std::string& name, int64_t value) {
    event.message(kEventStats, stat(name, value));
  }
  void value(WireMessage& event, const std::string& name, double value);
  void value(WireMessage& event, const std::string& name, const std::string& text) {
    event.message(kEventStats, stat(name, text));
  }
  /// A text that is a whole number is stored as one.
  void parsed_value(WireMessage& event, const std::string& name, const std::string& text);

  /// Of the plane itself.
  void value(const std::string& name, int64_t value) {
    plane_.message(kPlaneStats, stat(name, value));
  }
  void value(const std::string& name, const std::string& text) {
    plane_.message(kPlaneStats, stat(name, text));
  }

  /// Events by begin; of those that begin together the longest first.
  void add_line(int64_t id, const std::string& name,
                const std::vector<WireMessage>& events);
  WireMessage finish();

 private:
  static constexpr int kEventStats = 4, kPlaneStats = 6;

  /// Numbers for names, from 1, in order of first use.
  class Names {
   public:
    int64_t number(const std::string& name);
    /// As a map field: entries of key 1 and value 2, which repeats number and name.
    void write(WireMessage& plane, int field) const;

   private:
    std::map<std::string, int64_t> numbers_;
  };

  WireMessage stat(const std::string& name, int64_t value);
  /// The text stands in the table of names once.
  WireMessage stat(const std::string& name, const std::string& text);

  const int64_t wall_start_ns_;
  WireMessage plane_;
  Names event_names_, stat_names_;
};

}  // namespace tandem::profile
