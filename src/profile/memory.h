// What a recording says about memory: bytes in use after every allocation and its end, by
// device. Where the runtime was there when the recording began, with what was in use
// then; else from zero.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/lanes.h"

namespace tandem::profile {

struct MemoryPoint {
  const recorder::Event* event = nullptr;  // kAlloc or kFree
  int64_t in_use = 0;                      // after it
  int64_t peak = 0;                        // until then, of the device's life
  int64_t available = 0;                   // 0 where the device has no limit
};

/// In order of time, by device ("GPU:0").
std::map<std::string, std::vector<MemoryPoint>> memory_of(const Profile::State& state);

}  // namespace tandem::profile
