#include "device/emulated/emulated_device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/flags.h"
#include "base/recorder.h"
#include "device/conditional_work.h"
#include "tandem/error.h"

namespace tandem {
namespace {

Device::Info emulated_info(Device::Info info) {
  info.platform = kHostPlatform;
  info.host_memory = false;
  info.emulated = true;
  return info;
}

double non_negative(const char* name, double fallback) {
  const double value = env_double(name, fallback);
  if (value < 0) {
    throw ValueError(std::string(name) + " must not be negative, got " +
                     std::to_string(value));
  }
  return value;
}

}  // namespace

EmulatedLink EmulatedLink::from_environment() {
  const EmulatedLink standard;
  return {.bytes_per_second = 1e9 * non_negative("TANDEM_EMULATED_BANDWIDTH_GBPS",
                                                 standard.bytes_per_second / 1e9),
          .latency_seconds = 1e-6 * non_negative("TANDEM_EMULATED_LATENCY_US",
                                                 standard.latency_seconds * 1e6)};
}

double emulated_speed() {
  const double speed = env_double("TANDEM_EMULATED_SPEED", 1);
  if (!(speed > 0 && speed <= 1)) {
    throw ValueError(
        "TANDEM_EMULATED_SPEED must be more than 0 and at most 1 (as fast as the cores "
        "that play the GPU), got " +
        std::to_string(speed));
  }
  return speed;
}

EmulatedDevice::EmulatedDevice(Options options)
    : Device(emulated_info(options.request.info)),
      options_(std::move(options)),
      cores_(short_name() + " (emulated)", options_.request.cores),
      team_(options_.request.threads > 0 ? options_.request.threads
                                         : std::max(1, cores_.cores().size())),
      arena_(options_.memory_bytes),
      allocator_(arena_,
                 {.device = full_name(),
                  .allocator = type() + "_" + std::to_string(index()) + "_emulated",
                  .lane = short_name(),
                  .limited = options_.request.memory_limit > 0}),
      compute_(stream_options("/compute", &team_, options_.speed)),
      copy_in_(stream_options("/copy_in", nullptr)),
      copy_out_(stream_options("/copy_out", nullptr)) {
  ConditionalWork::offer(*this);
}

EmulatedDevice::~EmulatedDevice() {
  shutdown();
  if (options_.on_close) options_.on_close();
}

EmulatedStream::Options EmulatedDevice::stream_options(const char* name, Team* team,
                                                       double speed) {
  return {.lane = recorder::intern(short_name() + name),
          .device = this,
          .address_offset = arena_.offset(),
          .cores = cores_.cores(),
          .team = team,
          .speed = speed};
}

TimePoint EmulatedDevice::copy(Stream& stream, void* to, const void* from, size_t bytes) {
  using Clock = std::chrono::steady_clock;
  void* const source = const_cast<void*>(from);
  const bool within = holds(to) && holds(from);  // does not cross the link
  const char* const name =
      EmulatedArena::owns(from) ? (EmulatedArena::owns(to) ? "D2D" : "D2H") : "H2D";
  std::chrono::nanoseconds least{0};
  if (!within) {
    const EmulatedLink& link = options_.link;
    double seconds = link.latency_seconds;
    if (link.bytes_per_second > 0) {
      seconds += static_cast<double>(bytes) / link.bytes_per_second;
    }
    least = std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  }
  return stream.submit([target = EmulatedArena::reachable(to),
                        origin = EmulatedArena::reachable(source), bytes, least,
                        name](const StreamContext& context) {
    const auto end = Clock::now() + least;
    const int64_t begin_ns = recorder::enabled() ? recorder::now_ns() : 0;
    std::memcpy(target, origin, bytes);
    if (least.count() > 0) std::this_thread::sleep_until(end);
    if (begin_ns) {
      recorder::record(recorder::Kind::kCopy, name, context.lane, begin_ns,
                       recorder::now_ns(), static_cast<int64_t>(bytes));
    }
  });
}

void EmulatedDevice::end_loops() { compute_.end_loops(); }

void EmulatedDevice::shutdown() {
  compute_.shutdown();
  copy_in_.shutdown();
  copy_out_.shutdown();
}

}  // namespace tandem
