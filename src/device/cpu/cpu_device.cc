#include "device/cpu/cpu_device.h"

#include <algorithm>
#include <cstring>

#include "base/flags.h"
#include "base/recorder.h"
#include "device/cpu/host_memory.h"

namespace tandem {
namespace {

/// Bytes that one core copies in about 20 µs.
constexpr int64_t kCopyGrain = 256 << 10;

Device::Info host_info(Device::Info info) {
  info.platform = kHostPlatform;
  info.host_memory = true;
  info.emulated = false;
  return info;
}

CpuAllocator::Options allocator_options(const OpenRequest& request,
                                        const Device& device) {
  constexpr int64_t kMiB = 1 << 20;
  int64_t cache = env_int("TANDEM_CPU_CACHE_MB", host_memory_bytes() / 4 / kMiB) * kMiB;
  if (request.memory_limit > 0) cache = std::min(cache, request.memory_limit);
  return {.device = device.full_name(),
          .lane = device.short_name(),
          .memory_limit = request.memory_limit,
          .cache_bytes = std::max<int64_t>(cache, 0)};
}

int team_size(const OpenRequest& request) {
  return request.threads > 0 ? request.threads : std::max(1, request.cores.size());
}

/// Workers are bound when the device does not have the whole machine.
CoreSet worker_cores(const OpenRequest& request) {
  if (request.cores.size() == available_cores().size()) return {};
  return request.cores;
}

}  // namespace

CpuDevice::CpuDevice(const OpenRequest& request)
    : Device(host_info(request.info)),
      cores_(short_name(), request.cores),
      team_(team_size(request), worker_cores(request)),
      allocator_(allocator_options(request, *this)),
      stream_(*this, recorder::intern(short_name())),
      lanes_(*this, request.cores) {}

TimePoint CpuDevice::copy(Stream&, void* to, const void* from, size_t bytes) {
  const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
  const auto size = static_cast<int64_t>(bytes);
  CurrentTeam team(&team_);
  parallel_for(size, kCopyGrain, [&](int64_t first, int64_t last) {
    std::memcpy(static_cast<std::byte*>(to) + first,
                static_cast<const std::byte*>(from) + first,
                static_cast<size_t>(last - first));
  });
  if (begin) {
    recorder::record(recorder::Kind::kCopy, "H2H", stream_.lane().c_str(), begin,
                     recorder::now_ns(), size);
  }
  return {};
}

}  // namespace tandem
