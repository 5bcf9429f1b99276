// Events of a recording sorted into lanes: one row of a trace viewer each. Work of one
// lane that different threads did is cut into rows, so that events of a row nest; so is
// what a stream of a device did at the same time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/recorder.h"
#include "tandem/device.h"
#include "tandem/profile.h"

namespace tandem {

/// A device as the recording began.
struct ProfiledDevice {
  std::string name;  // "GPU:0"
  MemoryInfo memory;
  config::DeviceDetails details;
};

struct Profile::State {
  std::vector<recorder::Event> events;  // by begin
  int64_t start_ns = 0;                 // steady clock
  int64_t end_ns = 0;
  int64_t wall_start_ns = 0;       // since 1970
  std::vector<std::string> notes;  // what the recording lacks, and why
  std::vector<ProfiledDevice> devices;
};

namespace profile {

struct Lane {
  std::string device;  // "CPU:0", "GPU:1", "Program" for marks
  std::string name;    // "compute", "copies", "thread 3"
  std::vector<const recorder::Event*> events;
  bool of_device = false;  // a stream of a device that is not the host; see of_device()
};

/// Devices that say themselves what they did and when.
std::set<std::string> reporting_devices(const Profile::State& state);

/// Whether a stream of a device did it; else it is work of a thread of the host. Of a
/// device that reports, ops and copies are what the host enqueued.
bool of_device(const recorder::Event& event, const std::set<std::string>& reporting);

/// "GPU:0" for the lane "GPU:0/compute".
std::string device_of(const recorder::Event& event);

/// Ops, copies, waits and marks by lane; devices in order, the program first.
std::vector<Lane> lanes_of(const Profile::State& state);

/// A stage of a pipeline that made an element, or the consumer's wait for one.
bool is_stage(const recorder::Event& event);

/// The "name=value" lines of a mark or an activity.
std::vector<std::pair<std::string, std::string>> values_of(const recorder::Event& event);

/// The line of the user's program that an event comes from; null where it has none.
const char* source_of(const recorder::Event& event);

const char* kind_name(recorder::Kind kind);

}  // namespace profile
}  // namespace tandem
