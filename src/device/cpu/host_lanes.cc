#include "device/cpu/host_lanes.h"

#include "base/parallel.h"
#include "base/recorder.h"
#include "device/cpu/cpu_device.h"
#include "device/emulated/emulated_stream.h"
#include "tandem/error.h"

namespace tandem {

struct HostLanes::Lane {
  Lane(Device& device, const CoreSet& all, int lane_number, int of, int team_threads)
      : number(lane_number),
        lanes(of),
        threads(team_threads),
        cores(device.short_name() + "/" + std::to_string(number) + " of " +
                  std::to_string(lanes),
              split_cores(all, lanes)[static_cast<size_t>(number - 1)]),
        team(threads),
        stream(
            {.lane = recorder::intern(device.short_name() + "/" + std::to_string(number)),
             .device = &device,
             .cores = cores.cores(),
             .team = &team}) {}

  const int number, lanes, threads;
  CoreLease cores;
  Team team;  // its workers inherit the thread's cores
  EmulatedStream stream;
};

HostLanes::HostLanes(Device& device, CoreSet cores)
    : device_(device), cores_(std::move(cores)) {}

HostLanes::~HostLanes() = default;

HostLanes& HostLanes::of(Device& device) {
  auto* const cpu = dynamic_cast<CpuDevice*>(&device);
  if (!cpu) {
    throw InternalError("plan: " + device.full_name() +
                        " has no lanes of the host; plan the function again.");
  }
  return cpu->lanes();
}

Stream& HostLanes::lane(int number, int lanes, int threads) {
  const std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) {
    if (lane->number == number && lane->lanes == lanes && lane->threads == threads) {
      return lane->stream;
    }
  }
  lanes_.push_back(std::make_unique<Lane>(device_, cores_, number, lanes, threads));
  return lanes_.back()->stream;
}

void HostLanes::shutdown() {
  const std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) lane->stream.shutdown();
}

}  // namespace tandem
