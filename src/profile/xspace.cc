// The XSpace message of TensorBoard's profile page: a plane for the host with a line for
// each thread, on which marks, ops and launches nest, and a plane for each other device
// with its streams. Notes are the page's warnings. plugin_names.h says how it is read.
#include <algorithm>
#include <charconv>

#include <unistd.h>

#include "profile/memory.h"
#include "profile/plugin_names.h"
#include "profile/steps.h"
#include "profile/xplane.h"

namespace tandem {

namespace {

using profile::XPlane;
using recorder::Event;
using recorder::Kind;

/// Kinds of ties between an event and what happens elsewhere because of it: work of the
/// host's own lanes with its launch, and a device's gaps with the wait for a batch.
constexpr int64_t kLaunchTie = 1, kInputTie = 2;

/// From here on correlation ids are of no launch: work without one is counted only where
/// it has an id. What it belongs to is then seen from its time.
constexpr int64_t kNoLaunch = int64_t{1} << 48;

/// The plugin counts as input what is called a copy to the device.
constexpr const char* kInputGap = "MemcpyHToD waits for the batch";

class SpaceWriter {
 public:
  explicit SpaceWriter(const Profile::State& state)
      : state_(state),
        reporting_(profile::reporting_devices(state)),
        memory_(profile::memory_of(state)),
        steps_(profile::steps_of(state)),
        host_(0, "/host:CPU", state.wall_start_ns) {}

  std::string run() {
    const std::vector<profile::Lane> lanes = profile::lanes_of(state_);
    for (const profile::Lane& lane : lanes) {
      if (lane.of_device) add_stream(lane);
    }
    for (const auto& [name, work] : steps_.devices) add_gaps(device_plane(name), work);
    add_threads();
    WireMessage space;
    space.message(1, host_.finish());
    for (auto& [name, device] : devices_) {
      add_capabilities(device.plane, name);
      space.message(1, device.plane.finish());
    }
    for (const std::string& note : state_.notes) space.text(3, note);
    char host[256] = {};
    space.text(4, gethostname(host, sizeof host - 1) == 0 ? host : "localhost");
    return space.bytes();
  }

 private:
  struct DevicePlane {
    XPlane plane;
    int64_t streams = 0;
  };

  DevicePlane& device_plane(const std::string& name) {
    const auto id = static_cast<int64_t>(devices_.size() + 1);
    return devices_.try_emplace(name, XPlane(id, "/device:" + name, state_.wall_start_ns))
        .first->second;
  }

  WireMessage begin(XPlane& plane, const std::string& name, const Event& e) {
    return plane.event(name, e.begin_ns - state_.start_ns, e.end_ns - state_.start_ns);
  }

  void add_values(XPlane& plane, WireMessage& message, const Event& e) {
    if (const char* source = profile::source_of(e)) {
      plane.value(message, "source", std::string(source));
    }
    for (const auto& [name, value] : profile::values_of(e)) {
      plane.parsed_value(message, name, value);
    }
  }

  // ---- Devices

  void add_stream(const profile::Lane& lane) {
    DevicePlane& device = device_plane(lane.device);
    std::vector<WireMessage> events;
    for (const Event* e : lane.events) events.push_back(work(device.plane, *e));
    const int64_t number = ++device.streams;
    device.plane.add_line(number, profile::stream_name(number, lane.name), events);
  }

  WireMessage work(XPlane& plane, const Event& e) {
    WireMessage message = begin(plane, profile::device_name(e), e);
    if (profile::moves_bytes(e)) {
      plane.value(message, "memcpy_details", profile::copy_details(e));
    } else {
      plane.value(message, "kernel_details", profile::kernel_details(e));
    }
    if (const std::string op = profile::op_name(e); !op.empty()) {
      plane.value(message, "tf_op", op);
    }
    if (e.more.number) launched_[e.more.number] = profile::device_of(e);
    const bool tied = e.more.number && !steps_.beside.contains(&e);
    plane.value(message, "correlation_id",
                tied ? static_cast<int64_t>(e.more.number) : kNoLaunch + ++untied_);
    add_values(plane, message, e);
    return message;
  }

  void add_gaps(DevicePlane& device, const profile::DeviceWork& work) {
    if (work.gaps.empty()) return;
    std::vector<WireMessage> events;
    for (const profile::InputGap& gap : work.gaps) {
      WireMessage message = device.plane.event(
          kInputGap, gap.time.first - state_.start_ns, gap.time.second - state_.start_ns);
      device.plane.value(message, "_ct", kInputTie);
      device.plane.value(message, "_c", number_of(*gap.wait));
      device.plane.value(message, "correlation_id", kNoLaunch + ++untied_);
      events.push_back(std::move(message));
    }
    const int64_t number = ++device.streams;
    device.plane.add_line(number, profile::stream_name(number, "waits for input"),
                          events);
  }

  int64_t number_of(const Event& wait) {
    return waits_.emplace(&wait, static_cast<int64_t>(waits_.size() + 1)).first->second;
  }

  void add_capabilities(XPlane& plane, const std::string& name) const {
    for (const ProfiledDevice& d : state_.devices) {
      if (d.name != name) continue;
      plane.value("memory_size", d.memory.limit);
      const std::string& capability = d.details.compute_capability;
      int64_t major = 0, minor = 0;
      const size_t dot = capability.find('.');
      if (dot == std::string::npos) {
        plane.value("device_vendor", "emulated");
        continue;
      }
      const char* const text = capability.data();
      std::from_chars(text, text + dot, major);
      std::from_chars(text + dot + 1, text + capability.size(), minor);
      plane.value("device_vendor", "Nvidia");
      plane.value("compute_cap_major", major);
      plane.value("compute_cap_minor", minor);
    }
  }

  // ---- The host

  void add_threads() {
    std::map<uint64_t, std::vector<const Event*>> threads;
    for (const Event& e : state_.events) {
      if (!profile::of_device(e, reporting_)) threads[e.thread].push_back(&e);
    }
    for (const auto& [name, points] : memory_) {
      for (const profile::MemoryPoint& p : points) point_of_[p.event] = &p;
    }
    for (auto& [thread, events] : threads) {
      profile::sort_nested(events);
      std::vector<WireMessage> messages;
      for (const Event* e : events) messages.push_back(host_event(*e));
      host_.add_line(static_cast<int64_t>(thread), "thread " + std::to_string(thread),
                     messages);
    }
  }

  WireMessage host_event(const Event& e) {
    WireMessage message = begin(host_, profile::host_name(e), e);
    switch (e.kind) {
      case Kind::kMark:
        add_mark(message, e);
        break;
      case Kind::kAlloc:
      case Kind::kFree:
        add_memory(message, e);
        break;
      case Kind::kLaunch:
        add_launch(message, e);
        break;
      default:
        if (e.bytes) host_.value(message, "bytes", e.bytes);
        if (e.kind == Kind::kOp && e.more.number) {
          host_.value(message, "_ct", kLaunchTie);
          host_.value(message, "_c", static_cast<int64_t>(e.more.number));
        }
        add_values(host_, message, e);
    }
    return message;
  }

  // A mark with a number is a step, and a root of what the plugin puts together, whether
  // the program says so (`_r`) or not: Keras does not.
  void add_mark(WireMessage& message, const Event& e) {
    if (const auto wait = waits_.find(&e); wait != waits_.end()) {
      host_.value(message, "_pt", kInputTie);
      host_.value(message, "_p", wait->second);
    }
    if (profile::is_stage(e)) return;
    add_values(host_, message, e);
    int64_t number = 0;
    bool root = false;
    for (const auto& [name, value] : profile::values_of(e)) root = root || name == "_r";
    if (profile::step_number(e, &number) && !root) {
      host_.value(message, "_r", int64_t{1});
    }
  }

  void add_memory(WireMessage& message, const Event& e) {
    const profile::MemoryPoint& p = *point_of_.at(&e);
    host_.value(message, "allocator_name", std::string(e.lane));
    host_.value(message, "bytes_reserved", int64_t{0});
    host_.value(message, "bytes_allocated", p.in_use);
    host_.value(message, "bytes_available", p.available);
    host_.value(message, "fragmentation", 0.0);
    host_.value(message, "peak_bytes_in_use", p.peak);
    host_.value(message, "requested_bytes", e.bytes);
    host_.value(message, "allocation_bytes", e.bytes);
    host_.value(message, "addr", static_cast<int64_t>(e.more.number));
    if (const char* source = profile::source_of(e)) {
      host_.value(message, "region_type", std::string(source));
    }
  }

  void add_launch(WireMessage& message, const Event& e) {
    const auto number = static_cast<int64_t>(e.more.number);
    const auto device = launched_.find(e.more.number);
    if (device == launched_.end()) {
      host_.value(message, "_pt", kLaunchTie);
      host_.value(message, "_p", number);
      return;
    }
    host_.value(message, "correlation_id", number);
    const auto at = devices_.find(device->second);
    host_.value(message, "device_id",
                static_cast<int64_t>(std::distance(devices_.begin(), at)));
  }

  const Profile::State& state_;
  const std::set<std::string> reporting_;
  const std::map<std::string, std::vector<profile::MemoryPoint>> memory_;
  const profile::Steps steps_;
  std::map<const Event*, const profile::MemoryPoint*> point_of_;
  std::map<const Event*, int64_t> waits_;  // that a device had gaps in
  int64_t untied_ = 0;
  XPlane host_;
  std::map<std::string, DevicePlane> devices_;
  std::map<uint64_t, std::string> launched_;  // by launch: the device
};

}  // namespace

std::string Profile::xspace() const { return SpaceWriter(*state_).run(); }

}  // namespace tandem
