#include "device/emulated/emulated_stream.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/interrupt.h"
#include "base/recorder.h"
#include "device/conditional_work.h"
#include "device/device.h"
#include "tandem/error.h"

namespace tandem {
namespace {

thread_local const EmulatedStream* running_stream = nullptr;

std::atomic<uint64_t> forks{0};  // between the first process and this one
[[maybe_unused]] const int watches_forks =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });

double seconds_of_this_thread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace

EmulatedStream::EmulatedStream(Options options)
    : Stream(options.lane),
      options_(std::move(options)),
      context_{.device = options_.device,
               .address_offset = options_.address_offset,
               .lane = options_.lane},
      forks_(forks.load()),
      thread_([this] { run(); }) {}

bool EmulatedStream::left_behind() const {
  return forks.load(std::memory_order_relaxed) != forks_;
}

namespace {
class EmulatedCaptured final : public Captured {
 public:
  EmulatedCaptured(EmulatedStream& stream, std::function<void(const StreamContext&)> task)
      : stream_(stream),
        task_(std::make_shared<std::function<void(const StreamContext&)>>(
            std::move(task))) {}
  TimePoint launch() override {
    return stream_.submit([task = task_,
                           end = &stream_.loops_end()](const StreamContext& c) {
      const auto read = [&c](void* to, const void* from, size_t bytes) {
        std::memcpy(to, static_cast<const std::byte*>(from) + c.address_offset, bytes);
      };
      LookingWork work(c, read, end);
      (*task)(c);
    });
  }

 private:
  EmulatedStream& stream_;
  std::shared_ptr<std::function<void(const StreamContext&)>> task_;
};
}  // namespace

std::unique_ptr<Captured> EmulatedStream::capture(
    std::function<void(const StreamContext&)> task) {
  return std::make_unique<EmulatedCaptured>(*this, std::move(task));
}

TimePoint EmulatedStream::submit(StreamTask task) {
  if (!recorder::enabled()) return push({std::move(task), {}});
  const uint64_t launch = recorder::next_launch();
  const int64_t begin = recorder::now_ns();
  const TimePoint point = push({std::move(task), {}, launch});
  recorder::record(recorder::Kind::kLaunch, "launch", context_.lane, begin,
                   recorder::now_ns(), 0, nullptr, {.number = launch});
  return point;
}

void EmulatedStream::wait(TimePoint point) {
  if (point.stream == this || point.passed()) return;
  push({{}, point});
}

// Ahead of an op, whose own tasks then find a place: between them it is not interrupted.
void EmulatedStream::make_room() {
  if (running_stream == this || left_behind()) return;
  const size_t full = options_.capacity - std::min(options_.capacity - 1, kOfOneOp);
  const auto room = [&] { return stopping_ || queue_.size() < full; };
  std::unique_lock lock(mutex_);
  while (!room()) {
    if (!InterruptScope::listens()) {
      space_.wait(lock, room);
      continue;
    }
    space_.wait_for(lock, std::chrono::nanoseconds(InterruptScope::kPeriodNs), room);
    lock.unlock();
    poll_interrupt_now();
    lock.lock();
  }
}

TimePoint EmulatedStream::push(Item item) {
  if (left_behind()) {
    throw UnavailableError(
        (options_.device ? options_.device->full_name() : lane()) +
        " cannot be used in a process that was forked from one with a GPU: its threads "
        "do not live through a fork. Start the process with multiprocessing's "
        "\"spawn\", or compute under tf.device(\"/CPU:0\").");
  }
  std::unique_lock lock(mutex_);
  // The stream's own thread must not wait for itself to make room.
  if (running_stream != this) {
    space_.wait(lock, [&] { return stopping_ || queue_.size() < options_.capacity; });
  }
  if (stopping_) {
    throw CancelledError(
        "stream " + lane() +
        " takes no more work: its device is shut down (the process exits)");
  }
  queue_.push_back(std::move(item));
  const TimePoint point{this, ++submitted_};
  lock.unlock();
  work_.notify_one();
  return point;
}

TimePoint EmulatedStream::now() {
  if (left_behind()) return {};
  std::lock_guard lock(mutex_);
  return {this, submitted_};
}

void EmulatedStream::host_wait(uint64_t sequence) {
  if (passed(sequence)) return;
  const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
  // Lanes of the host have no loops of their own, and a call joins them whatever happens.
  const bool lane_of_host = options_.device && options_.device->is_host();
  if (!lane_of_host && InterruptScope::listens()) {
    wait_or_interrupt(sequence);
  } else {
    wait_within(sequence, {});
  }
  if (begin) {
    recorder::record(recorder::Kind::kWait, "wait", context_.lane, begin,
                     recorder::now_ns(), 0);
  }
}

bool EmulatedStream::wait_within(uint64_t sequence, std::chrono::nanoseconds most) {
  const auto over = [&] { return passed(sequence); };
  std::unique_lock lock(mutex_);
  ++waiters_;
  if (most.count() == 0) {
    done_.wait(lock, over);
  } else {
    done_.wait_for(lock, most, over);
  }
  --waiters_;
  return over();
}

// Asks now and then whether this thread is interrupted. If it is, loops that the device
// decides end, whatever they wait for; what they spoil carries that error.
void EmulatedStream::wait_or_interrupt(uint64_t sequence) {
  const std::chrono::nanoseconds period(InterruptScope::kPeriodNs);
  while (!wait_within(sequence, period)) {
    try {
      poll_interrupt_now();
    } catch (...) {
      auto* loops = options_.device
                        ? dynamic_cast<EmulatedStream*>(&options_.device->compute())
                        : this;
      ++loops->end_loops_;
      wait_within(sequence, {});
      --loops->end_loops_;
      loops->forget_interrupt();
      throw;
    }
  }
}

// Who has interrupted it knows.
void EmulatedStream::forget_interrupt() {
  std::lock_guard lock(mutex_);
  if (!error_) return;
  try {
    std::rethrow_exception(error_);
  } catch (const CancelledError&) {
    error_ = nullptr;
  } catch (...) {
    // Another error, which somebody has to be told.
  }
}

std::exception_ptr EmulatedStream::take_error() {
  if (left_behind()) return nullptr;
  std::lock_guard lock(mutex_);
  return std::exchange(error_, nullptr);
}

void EmulatedStream::forget_error(const std::exception_ptr& error) {
  if (left_behind()) return;
  std::lock_guard lock(mutex_);
  if (error_ == error) error_ = nullptr;
}

void EmulatedStream::shutdown() {
  if (left_behind()) {
    if (thread_.joinable()) thread_.detach();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  space_.notify_all();
  std::lock_guard lock(join_mutex_);
  if (!thread_.joinable()) return;
  give_up_late();
  thread_.join();
  const std::exception_ptr error = take_error();
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const CancelledError&) {
    // A loop that was ended above.
  } catch (const std::exception& e) {
    // The log may be gone by now.
    std::fprintf(
        stderr,
        "tandem: %s: an error that nobody waited for: %s. Call synchronize(), or set "
        "TANDEM_SYNC=1 to see it where it arises.\n",
        lane().c_str(), e.what());
  }
}

// What takes long now is for nobody: the process would only end later.
void EmulatedStream::give_up_late() {
  constexpr std::chrono::seconds kPatience(1);
  std::deque<Item> dropped;
  {
    std::unique_lock lock(mutex_);
    ++waiters_;
    const bool over = done_.wait_for(lock, kPatience, [&] {
      return completed_.load(std::memory_order_relaxed) == submitted_;
    });
    --waiters_;
    if (over) return;
    dropped.swap(queue_);
    ++end_loops_;
  }
}

void EmulatedStream::run() {
  name_this_thread(lane());
  bind_this_thread(options_.cores);
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL,
        0UL);  // nanoseconds: throttled copies end on time
  on_stream_thread = true;
  running_stream = this;
  CurrentTeam team(options_.team);

  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) {
      completed_.store(submitted_, std::memory_order_release);  // with what was dropped
      done_.notify_all();
      return;
    }
    Item item = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    space_.notify_all();
    run_item(std::move(item));  // what the task held is gone before its point has passed
    lock.lock();
    completed_.store(completed_.load(std::memory_order_relaxed) + 1,
                     std::memory_order_release);
    if (waiters_ > 0) done_.notify_all();
  }
}

void EmulatedStream::run_item(Item item) {
  const recorder::LaunchScope launch(item.launch);
  if (item.awaited) {
    item.awaited.host_wait();
    return;
  }
  const double before = options_.speed < 1 ? seconds_of_this_thread() : 0;
  try {
    item.task(context_);
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  if (options_.speed < 1) take_modelled_time(seconds_of_this_thread() - before);
}

// The rest of what a device of that speed takes; its core is free meanwhile. Less than
// the system can keep apart is saved up. The end of the process does not wait for it.
void EmulatedStream::take_modelled_time(double computed_seconds) {
  constexpr double kLeast = 50e-6;
  owed_seconds_ += computed_seconds * (1 / options_.speed - 1);
  if (owed_seconds_ < kLeast) return;
  const auto begin = std::chrono::steady_clock::now();
  const int64_t begin_ns = recorder::enabled() ? recorder::now_ns() : 0;
  {
    std::unique_lock lock(mutex_);
    work_.wait_for(lock, std::chrono::duration<double>(owed_seconds_),
                   [&] { return stopping_; });
  }
  owed_seconds_ -=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (begin_ns) {
    recorder::record(recorder::Kind::kOp, "modelled time", context_.lane, begin_ns,
                     recorder::now_ns(), 0);
  }
}

}  // namespace tandem
