// Events of a recording sorted into lanes: one row of a trace viewer each. Work of one
// lane that different threads did is cut into rows, so that events of a row nest; so is
// what a stream of a device did at the same time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/recorder.h"
#include "tandem/profile.h"

namespace tandem {

struct Profile::State {
  std::vector<recorder::Event> events;  // by begin
  int64_t start_ns = 0;                 // steady clock
  int64_t end_ns = 0;
  int64_t wall_start_ns = 0;       // since 1970
  std::vector<std::string> notes;  // what the recording lacks, and why
};

namespace profile {

struct Lane {
  std::string device;  // "CPU:0", "GPU:1", "Program" for marks
  std::string name;    // "compute", "copies", "thread 3"
  std::vector<const recorder::Event*> events;
};

/// Ops, copies, waits and marks by lane; devices in order, the program first.
std::vector<Lane> lanes_of(const Profile::State& state);

/// The "name=value" lines of a mark or an activity.
std::vector<std::pair<std::string, std::string>> values_of(const recorder::Event& event);

/// The line of the user's program that an event comes from; null where it has none.
const char* source_of(const recorder::Event& event);

const char* kind_name(recorder::Kind kind);

}  // namespace profile
}  // namespace tandem
