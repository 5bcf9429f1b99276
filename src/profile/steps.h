// The steps of a recording and which work of the devices belongs to which: as
// TensorBoard's plugin finds it, so that its pages and our figures are the same.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "profile/intervals.h"
#include "profile/lanes.h"

namespace tandem::profile {

/// A mark with a `step_num` that is in no other such mark of its thread.
struct Step {
  const recorder::Event* mark = nullptr;
  int64_t number = 0;
  std::vector<const recorder::Event*> waits;  // for a batch, by the step's thread
};

/// A time in which a device had nothing to do while a step waited for its batch.
struct InputGap {
  Interval time;
  const recorder::Event* wait = nullptr;
  size_t step = 0;
};

struct DeviceWork {
  std::vector<const recorder::Event*> events;  // by begin
  std::vector<InputGap> gaps;                  // by begin
};

struct Steps {
  std::vector<Step> steps;                    // by begin
  std::map<uint64_t, size_t> of_launch;       // launches by threads that were in a step
  std::map<std::string, DeviceWork> devices;  // "GPU:0"; not the host
  /// Copies that ran beside the work of another step: they count for that one, not for
  /// the one whose batch they bring or whose results they take.
  std::set<const recorder::Event*> beside;
};

Steps steps_of(const Profile::State& state);

/// What a step took. On the host alone: its mark. Where devices worked for it: from its
/// first work, or the wait for its batch, to the end of its last, of the device where
/// that is longest.
struct StepTime {
  int64_t ns = 0;
  int64_t input_ns = 0;  // waits for the batch and copies of it beside no other work
};
std::vector<StepTime> times_of(const Steps& steps);

/// "name=value" lines of a mark: its `step_num`; false: it has none.
bool step_number(const recorder::Event& mark, int64_t* number);

/// Parents before children: by begin, of those that begin together the longest first.
void sort_nested(std::vector<const recorder::Event*>& events);

}  // namespace tandem::profile
