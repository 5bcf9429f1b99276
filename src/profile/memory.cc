#include "profile/memory.h"

#include <algorithm>

namespace tandem::profile {

std::map<std::string, std::vector<MemoryPoint>> memory_of(const Profile::State& state) {
  std::map<std::string, MemoryInfo> now;
  for (const ProfiledDevice& d : state.devices) now[d.name] = d.memory;
  std::map<std::string, std::vector<MemoryPoint>> points;
  for (const recorder::Event& e : state.events) {
    const bool alloc = e.kind == recorder::Kind::kAlloc;
    if (!alloc && e.kind != recorder::Kind::kFree) continue;
    MemoryInfo& m = now[e.lane];
    m.current += alloc ? e.bytes : -e.bytes;
    m.peak = std::max(m.peak, m.current);
    points[e.lane].push_back(
        {&e, m.current, m.peak, std::max<int64_t>(m.limit - m.current, 0)});
  }
  return points;
}

}  // namespace tandem::profile
