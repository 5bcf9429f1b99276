// Streams and points in time. A Stream is an ordered queue of work of one device; a
// TimePoint says "when this stream has finished its n-th piece". TimePoints are plain
// values and need no event objects: a backend records a native event only when somebody
// waits. Streams are owned by their device; any thread may submit and wait.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "base/task.h"

namespace tandem {

class Device;
class Stream;

struct TimePoint {
  Stream* stream = nullptr;  // null: already passed
  uint64_t sequence = 0;
  bool passed() const;
  /// Blocks the calling thread. Does not throw the errors of the work: buffers carry
  /// those.
  void host_wait() const;
  explicit operator bool() const { return stream != nullptr; }
  friend bool operator==(const TimePoint&, const TimePoint&) = default;
};

/// What a task sees when it runs in stream order.
struct StreamContext {
  Device* device = nullptr;
  void* native = nullptr;      // e.g. cudaStream_t; null on host-executed streams
  void* library = nullptr;     // a backend's per-stream library handles
  int64_t address_offset = 0;  // add to a device address to reach it from the task
  const char* lane = "";       // recorder lane
};
using StreamTask = TaskOf<const StreamContext&>;

/// True on a thread that runs a stream's tasks: waiting for any stream there might be
/// waiting for itself, and memory in stream order is not in the order of that thread.
inline thread_local bool on_stream_thread = false;

/// Work that was recorded once and is launched many times by one call each (design,
/// decision 5). Launches of one object run one after the other. Owned by a plan.
class Captured {
 public:
  virtual ~Captured() = default;
  /// Enqueues all of it, like Stream::submit(); throws where the device refuses it.
  virtual TimePoint launch() = 0;
};

class Stream {
 public:
  explicit Stream(std::string lane) : lane_(std::move(lane)) {}
  virtual ~Stream() = default;

  /// Runs the task in stream order. A host-executed stream runs it later on its own
  /// thread (a task that throws leaves its error with the stream); a native stream runs
  /// it at once on the caller to enqueue native work; the CPU's stream runs it to the end
  /// at once.
  virtual TimePoint submit(StreamTask task) = 0;
  /// Waits while the queue is all but full. This can be interrupted (base/interrupt.h),
  /// so it comes before an op begins; submit() waits for the rest, which is short.
  virtual void make_room() {}
  /// Records the work of `task` to launch it again and again; null where the stream
  /// cannot. A native stream calls `task` now, with the stream in capture mode, and
  /// replays what it enqueued, addresses included; a host-executed stream keeps the task
  /// and calls it at each launch. Either way the task must do the same work each time.
  virtual std::unique_ptr<Captured> capture(
      std::function<void(const StreamContext&)> task) {
    static_cast<void>(task);
    return nullptr;
  }
  /// Later work of this stream waits for `point` without blocking the caller.
  virtual void wait(TimePoint point) = 0;
  /// The point after everything submitted so far.
  virtual TimePoint now() = 0;
  virtual bool passed(uint64_t sequence) = 0;
  virtual void host_wait(uint64_t sequence) = 0;
  /// The first error nobody has taken yet, or null. Taking clears it.
  virtual std::exception_ptr take_error() = 0;
  /// Somebody has seen this error elsewhere: drops it if it is the one being kept.
  virtual void forget_error(const std::exception_ptr&) {}
  /// Tasks run before submit() returns.
  virtual bool inline_execution() const { return false; }

  const std::string& lane() const { return lane_; }

 private:
  std::string lane_;
};

inline bool TimePoint::passed() const { return !stream || stream->passed(sequence); }
inline void TimePoint::host_wait() const {
  if (stream) stream->host_wait(sequence);
}

}  // namespace tandem
