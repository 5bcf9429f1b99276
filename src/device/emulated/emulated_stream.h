// EmulatedStream: a stream that is a thread. Tasks run in order on it, at the speed of
// its core or slower; a task that throws leaves its error with the stream, and later
// tasks still run (buffers carry what is spoiled). The queue is bounded: submit() blocks
// while it is full. Its thread does not live through a fork: in the child nothing waits
// for it, and work is refused. Owned by its device; any thread may submit and wait.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/core_set.h"
#include "base/parallel.h"
#include "device/stream.h"

namespace tandem {

class EmulatedStream final : public Stream {
 public:
  struct Options {
    const char* lane = "";  // lives as long as the process; names the thread too
    Device* device = nullptr;
    int64_t address_offset = 0;
    CoreSet cores;
    Team* team = nullptr;  // for kernels that its tasks run
    double speed = 1;      // of its core: a task takes 1 / speed of what it computes
    size_t capacity = 1024;
  };
  explicit EmulatedStream(Options options);
  ~EmulatedStream() override { shutdown(); }

  /// Throws CancelledError after shutdown(), also when it was waiting for room, and
  /// UnavailableError in a forked process.
  TimePoint submit(StreamTask task) override;
  void make_room() override;
  std::unique_ptr<Captured> capture(
      std::function<void(const StreamContext&)> task) override;
  void wait(TimePoint point) override;
  TimePoint now() override;
  bool passed(uint64_t sequence) override {
    return completed_.load(std::memory_order_acquire) >= sequence || left_behind();
  }
  void host_wait(uint64_t sequence) override;
  std::exception_ptr take_error() override;
  void forget_error(const std::exception_ptr& error) override;

  /// Says that loops in its captured work are to end.
  const std::atomic<int32_t>& loops_end() const { return end_loops_; }

  /// Ends loops in its captured work, also in that which comes later.
  void end_loops() { ++end_loops_; }
  /// Takes no more work, finishes what is queued as far as it takes a second, drops the
  /// rest, and joins the thread.
  void shutdown();

 private:
  static constexpr size_t kOfOneOp = 16;  // pieces of work, at most a few more
  /// A task, or a wait for a point of another stream.
  struct Item {
    StreamTask task;
    TimePoint awaited;
    uint64_t launch = 0;  // for the recorder
  };
  TimePoint push(Item item);
  /// In a process that was forked after the thread began: it is not there, and the lock
  /// may be held by it for ever.
  bool left_behind() const;
  /// Whether the point has passed; waits for it, at most so long, 0: until it has.
  bool wait_within(uint64_t sequence, std::chrono::nanoseconds most);
  void wait_or_interrupt(uint64_t sequence);
  void forget_interrupt();
  void give_up_late();
  void run();
  void run_item(Item item);
  void take_modelled_time(double computed_seconds);

  const Options options_;
  const StreamContext context_;
  const uint64_t forks_;  // of the process when the thread began

  std::mutex mutex_;
  std::condition_variable work_;   // the queue has items, or shutdown
  std::condition_variable space_;  // the queue has room, or shutdown
  std::condition_variable done_;   // completed_ has grown
  std::deque<Item> queue_;
  uint64_t submitted_ = 0;
  int waiters_ = 0;  // threads in host_wait
  bool stopping_ = false;
  std::exception_ptr error_;
  std::atomic<uint64_t> completed_{0};  // written with the mutex held

  std::atomic<int32_t> end_loops_{0};  // threads that want it
  double owed_seconds_ = 0;            // of modelled time; its thread's alone
  std::mutex join_mutex_;
  std::thread thread_;
};

}  // namespace tandem
