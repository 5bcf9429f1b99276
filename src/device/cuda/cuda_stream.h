// CudaStream: a native stream. Tasks run at once on the caller and enqueue work; events
// are recorded when somebody waits for a point that none covers yet, and after every so
// many pieces of work, so that a queue which is too long can be waited for in parts. What
// must happen on the host once work is done (the last step of a copy to pageable memory)
// is done by whoever first sees that it is done, and where it is much by several threads.
// Owned by its device; any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

#include "device/cuda/driver.h"
#include "device/stream.h"

namespace tandem::cuda {

class CudaDevice;

class CudaStream final : public Stream {
 public:
  struct Options {
    const char* lane = "";  // lives as long as the process
    CudaDevice* device = nullptr;
    /// host_wait() throws the errors that kernels report (a bad index). False for the
    /// stream of copies to the GPU, which destructors wait for.
    bool reports = true;
  };
  explicit CudaStream(Options options)
      : Stream(options.lane), options_(std::move(options)) {}

  /// Makes the native stream; the device's context is current.
  void open();
  /// Waits for the work; afterwards every point has passed and no work is taken.
  void close();

  TimePoint submit(StreamTask task) override;
  /// The same, but what the task throws is the caller's, and not left with the stream.
  TimePoint enqueue(StreamTask task);
  /// Enqueues a graph, while no wait() is given to the stream: the driver (580) can lose
  /// a wait that meets the launch of a graph by another thread (tools/gpu/lost-wait).
  TimePoint launch(CUgraphExec graph);
  void make_room() override;
  std::unique_ptr<Captured> capture(
      std::function<void(const StreamContext&)> task) override;
  void wait(TimePoint point) override;
  TimePoint now() override { return {this, submitted_.load(std::memory_order_acquire)}; }
  bool passed(uint64_t sequence) override;
  void host_wait(uint64_t sequence) override;
  std::exception_ptr take_error() override;
  void forget_error(const std::exception_ptr& error) override;

  /// Waits without reporting what kernels found wrong.
  void wait_quietly(uint64_t sequence);
  /// The same, but loops on the GPU that are in the way end when this thread is
  /// interrupted, which it throws then.
  void wait_or_interrupt(uint64_t sequence);
  /// Sees to it that passed() can tell this point from later ones.
  void cover(uint64_t sequence);
  /// Waits for the GPU's part of the work alone.
  void wait_for_gpu(uint64_t sequence);
  /// Does the host's part of work that is over on the GPU, as far as there is some; false
  /// when there was none.
  bool help();
  /// Calls `done` on some thread once the work up to `sequence` is finished, before
  /// anybody is told so. It must not throw.
  void when_done(uint64_t sequence, std::function<void()> done);
  /// Keeps the first error.
  void fail(std::exception_ptr error);
  /// Whether it is known to have passed: asks nobody.
  bool has_passed(uint64_t sequence) const {
    return completed_.load(std::memory_order_acquire) >= sequence;
  }
  CUstream native() const { return native_; }
  StreamContext context(CUstream native) const;

 private:
  friend class CudaCaptured;
  struct Recorded {
    uint64_t sequence;
    CUevent event;
  };
  struct Ending {
    uint64_t sequence;
    std::function<void()> done;
    bool taken = false;  // somebody is about it
  };
  using Lock = std::unique_lock<std::mutex>;
  /// The first event at or after `sequence`, recorded now if there is none. Locked.
  CUevent event_for(uint64_t sequence);
  /// Looks which events have come to pass. Locked.
  void retire();
  /// The GPU has finished its work up to `sequence`. Locked.
  void reach(uint64_t sequence);
  /// Lets pass what the GPU has reached, up to the first ending. Locked.
  void settle();
  /// Waits until the GPU has reached `sequence`. Locked; unlocks meanwhile.
  void await(Lock& lock, uint64_t sequence);
  /// The first ending up to `sequence` that nobody is about. Locked.
  std::list<Ending>::iterator next_ending(uint64_t sequence);
  /// Runs one up to `sequence` that the GPU has reached; false: there is none. Locked;
  /// unlocks meanwhile.
  bool run_ending(Lock& lock, uint64_t sequence);
  /// Runs endings up to `sequence` until there are none left for this thread; one that
  /// does not help waits for those of others, too.
  void finish(uint64_t sequence, bool helping);
  /// What a driver call on the stream returned: true when the work is finished (or the
  /// device is lost, when nothing will ever finish).
  bool finished(CUresult result);
  bool waits_for_host(uint64_t sequence);

  const Options options_;
  CUstream native_ = nullptr;
  std::atomic<uint64_t> submitted_{0}, completed_{0};
  std::atomic<bool> closed_{false};

  std::mutex giving_;  // held for graphs and waits that are enqueued; before a mutex_

  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  uint64_t reached_ = 0;  // by the GPU
  std::deque<Recorded> recorded_;
  std::vector<CUevent> idle_;
  std::list<Ending> endings_;  // by sequence
  std::exception_ptr error_;
};

}  // namespace tandem::cuda
