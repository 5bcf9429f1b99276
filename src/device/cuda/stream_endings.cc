// What the host does once the GPU's part of a stream's work is over, by one thread or
// several. A point passes when the endings up to it have run.
#include <algorithm>
#include <chrono>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"

namespace tandem::cuda {

namespace {
/// How long a helper sleeps while the GPU is busy with the next piece, which takes about
/// as long.
constexpr std::chrono::microseconds kNap{20};
}  // namespace

void CudaStream::when_done(uint64_t sequence, std::function<void()> done) {
  Lock lock(mutex_);
  if (has_passed(sequence)) {
    lock.unlock();
    done();
    return;
  }
  // Several threads may come in another order than their numbers.
  auto at = endings_.end();
  while (at != endings_.begin() && std::prev(at)->sequence > sequence) --at;
  endings_.insert(at, {sequence, std::move(done)});
}

std::list<CudaStream::Ending>::iterator CudaStream::next_ending(uint64_t sequence) {
  return std::find_if(endings_.begin(), endings_.end(),
                      [&](const Ending& e) { return !e.taken || e.sequence > sequence; });
}

bool CudaStream::run_ending(Lock& lock, uint64_t sequence) {
  const uint64_t due = std::min(sequence, reached_);
  const auto next = next_ending(due);
  if (next == endings_.end() || next->sequence > due) return false;
  next->taken = true;
  lock.unlock();
  next->done();
  lock.lock();
  endings_.erase(next);
  settle();
  ended_.notify_all();
  return true;
}

void CudaStream::finish(uint64_t sequence, bool helping) {
  if (helping && !options_.device->enter()) return;
  Lock lock(mutex_);
  while (!has_passed(sequence)) {
    if (run_ending(lock, sequence)) continue;
    const auto next = next_ending(sequence);
    const bool more = next != endings_.end() && next->sequence <= sequence;
    if (helping) {
      if (!more) return;
      retire();
      if (reached_ < next->sequence) ended_.wait_for(lock, kNap);
    } else if (more) {
      await(lock, next->sequence);
    } else if (reached_ < sequence) {
      await(lock, sequence);
    } else {
      ended_.wait(lock);  // others are about the last ones
    }
  }
}

bool CudaStream::help() {
  if (!options_.device->enter()) return false;
  Lock lock(mutex_);
  retire();
  bool some = false;
  while (run_ending(lock, reached_)) some = true;
  return some;
}

}  // namespace tandem::cuda
