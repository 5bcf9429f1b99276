#include "device/cuda/cuda_stream.h"

#include <algorithm>
#include <utility>

#include "base/interrupt.h"
#include "base/recorder.h"
#include "device/cuda/copy_team.h"
#include "device/cuda/cuda_device.h"
#include "tandem/error.h"

namespace tandem::cuda {

namespace {
/// So many endings occupy one more thread: a wake-up takes as long as a few.
constexpr size_t kEndingsWorthHelp = 2;
/// Pieces of work from one event to the next.
constexpr uint64_t kBetweenMarks = 64;
/// A launch waits by itself, and for ever if need be, once about 1,024 are queued. A
/// piece of work is one or a few.
constexpr uint64_t kMostQueued = 512;
}  // namespace

void CudaStream::open() {
  check(driver().cuStreamCreate(&native_, CU_STREAM_NON_BLOCKING), "making a stream");
}

void CudaStream::close() {
  if (closed_ || !native_) return;
  wait_quietly(submitted_.load());
  closed_ = true;
}

StreamContext CudaStream::context(CUstream native) const {
  return {.device = options_.device, .native = native, .lane = options_.lane};
}

TimePoint CudaStream::submit(StreamTask task) {
  return enqueue([this, &task](const StreamContext& context) {
    try {
      task(context);
    } catch (...) {
      fail(std::current_exception());
    }
  });
}

TimePoint CudaStream::enqueue(StreamTask task) {
  options_.device->activate();
  if (closed_) {
    throw CancelledError("stream " + lane() +
                         " takes no more work: its device is shut down (the process "
                         "exits)");
  }
  task(context(native_));
  // The number is given after the work is enqueued: an event recorded for it covers it,
  // whatever other threads submit meanwhile.
  const uint64_t number = submitted_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (number % kBetweenMarks == 0) cover(number);
  return {this, number};
}

TimePoint CudaStream::launch(CUgraphExec graph) {
  return enqueue([&](const StreamContext& context) {
    const std::lock_guard giving(giving_);
    check(driver().cuGraphLaunch(graph, static_cast<CUstream>(context.native)),
          "launching a captured step");
  });
}

// Half of the queue stays with the GPU, which is not to run out of work meanwhile.
void CudaStream::make_room() {
  const uint64_t passed = completed_.load(std::memory_order_acquire);
  const uint64_t last = submitted_.load(std::memory_order_acquire);
  if (last - passed < kMostQueued) return;
  const uint64_t enough = last - kMostQueued / 2;
  while (!has_passed(enough) && !closed_ && options_.device->enter()) {
    uint64_t next = enough;
    {
      Lock lock(mutex_);
      retire();
      if (!recorded_.empty()) next = std::min(next, recorded_.front().sequence);
    }
    wait_or_interrupt(next);
    poll_interrupt_now();
  }
}

void CudaStream::fail(std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

void CudaStream::wait(TimePoint point) {
  if (point.stream == this || point.passed()) return;
  auto* other = dynamic_cast<CudaStream*>(point.stream);
  if (!other) {
    point.host_wait();
    return;
  }
  options_.device->activate();
  // Contents that the host still has to move are not there when the event says so.
  if (other->waits_for_host(point.sequence)) {
    other->wait_quietly(point.sequence);
    return;
  }
  if (!other->options_.device->enter()) return;
  const std::lock_guard giving(giving_);
  const std::lock_guard lock(other->mutex_);
  const CUevent event = other->event_for(point.sequence);
  options_.device->activate();
  if (event) check(driver().cuStreamWaitEvent(native_, event, 0), "waiting for an event");
}

bool CudaStream::waits_for_host(uint64_t sequence) {
  std::lock_guard lock(mutex_);
  return !endings_.empty() && endings_.front().sequence <= sequence;
}

CUevent CudaStream::event_for(uint64_t sequence) {
  for (const Recorded& r : recorded_) {
    if (r.sequence >= sequence) return r.event;
  }
  const uint64_t covered = submitted_.load(std::memory_order_acquire);
  CUevent event = nullptr;
  if (!idle_.empty()) {
    event = idle_.back();
    idle_.pop_back();
  } else if (const CUresult result =
                 driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING)) {
    finished(result);
    return nullptr;
  }
  if (const CUresult result = driver().cuEventRecord(event, native_)) {
    idle_.push_back(event);
    finished(result);
    return nullptr;
  }
  recorded_.push_back({covered, event});
  return event;
}

bool CudaStream::finished(CUresult result) {
  if (result == CUDA_SUCCESS) return true;
  if (result == CUDA_ERROR_NOT_READY) return false;
  options_.device->lost(result, lane());
  return true;
}

void CudaStream::reach(uint64_t sequence) {
  reached_ = std::max(reached_, sequence);
  settle();
}

void CudaStream::settle() {
  uint64_t passed = reached_;
  if (!endings_.empty()) passed = std::min(passed, endings_.front().sequence - 1);
  if (completed_.load(std::memory_order_relaxed) < passed) {
    completed_.store(passed, std::memory_order_release);
  }
}

void CudaStream::retire() {
  while (!recorded_.empty() && finished(driver().cuEventQuery(recorded_.front().event))) {
    const Recorded r = recorded_.front();
    recorded_.pop_front();
    idle_.push_back(r.event);
    reach(r.sequence);
  }
}

bool CudaStream::passed(uint64_t sequence) {
  if (has_passed(sequence) || closed_) return true;
  if (!native_) return true;  // no work was ever given
  const bool usable = options_.device->enter();
  Lock lock(mutex_);
  if (!usable) reach(submitted_.load(std::memory_order_acquire));
  if (reached_ < sequence) retire();
  if (reached_ < sequence &&
      (recorded_.empty() || recorded_.back().sequence < sequence)) {
    const uint64_t covered = submitted_.load(std::memory_order_acquire);
    if (finished(driver().cuStreamQuery(native_))) reach(covered);
  }
  while (run_ending(lock, sequence)) {
  }
  return has_passed(sequence);
}

void CudaStream::await(Lock& lock, uint64_t sequence) {
  const bool usable = options_.device->enter();
  while (reached_ < sequence) {
    const CUevent event = usable ? event_for(sequence) : nullptr;
    if (!event) {  // the device is lost: nothing will ever finish
      reach(submitted_.load(std::memory_order_acquire));
      return;
    }
    lock.unlock();
    const CUresult result = driver().cuEventSynchronize(event);
    lock.lock();
    if (result != CUDA_SUCCESS) {
      finished(result);
      reach(submitted_.load(std::memory_order_acquire));
    } else {
      retire();
    }
  }
}

void CudaStream::wait_for_gpu(uint64_t sequence) {
  if (has_passed(sequence) || closed_ || !native_) return;
  Lock lock(mutex_);
  await(lock, sequence);
}

void CudaStream::cover(uint64_t sequence) {
  if (has_passed(sequence) || closed_ || !options_.device->enter()) return;
  std::lock_guard lock(mutex_);
  event_for(sequence);
}

void CudaStream::wait_quietly(uint64_t sequence) {
  if (has_passed(sequence) || closed_ || !native_) return;
  const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
  size_t helpers = 0;
  {
    Lock lock(mutex_);
    const auto next = next_ending(sequence);
    for (auto e = next; e != endings_.end() && e->sequence <= sequence; ++e) ++helpers;
    helpers /= kEndingsWorthHelp;
    // They are called when there is something for them to do.
    if (helpers) await(lock, next->sequence);
  }
  if (helpers) {
    CopyTeam::get().run(helpers, [&](bool helping) { finish(sequence, helping); });
  } else {
    finish(sequence, false);
  }
  if (begin) {
    recorder::record(recorder::Kind::kWait, "wait", options_.lane, begin,
                     recorder::now_ns(), 0);
  }
}

void CudaStream::wait_or_interrupt(uint64_t sequence) {
  if (has_passed(sequence)) return;
  options_.device->loops().wait(*this, sequence);
  wait_quietly(sequence);
}

void CudaStream::host_wait(uint64_t sequence) {
  if (!options_.reports) {
    wait_quietly(sequence);
    return;
  }
  wait_or_interrupt(sequence);
  options_.device->throw_reported();
}

std::exception_ptr CudaStream::take_error() {
  std::lock_guard lock(mutex_);
  return std::exchange(error_, nullptr);
}

void CudaStream::forget_error(const std::exception_ptr& error) {
  std::lock_guard lock(mutex_);
  if (error_ == error) error_ = nullptr;
}

}  // namespace tandem::cuda
