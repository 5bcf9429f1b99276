#include "kernels/cuda/compile_pool.h"

#include <algorithm>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "base/core_set.h"

namespace tandem::cuda {

namespace {
// The program's own threads come first. On Linux a thread has a priority of its own.
void lower_priority() { setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10); }
}  // namespace

CompilePool::CompilePool(int threads, Priority priority)
    : most_(static_cast<size_t>(std::clamp(threads, 1, kMostThreads))),
      priority_(priority) {}

CompilePool::~CompilePool() { stop(); }

CompilePool& CompilePool::get() {
  static auto* const pool = new CompilePool(available_cores().size(), Priority::kLow);
  return *pool;
}

void CompilePool::submit(Job job) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  jobs_.push_back(std::move(job));
  if (jobs_.size() > sleeping_ && threads_.size() < most_) {
    threads_.emplace_back([this] { work(); });
  }
  more_.notify_one();
}

void CompilePool::work() {
  name_this_thread("tandem-compile");
  if (priority_ == Priority::kLow) lower_priority();
  std::unique_lock lock(mutex_);
  while (true) {
    ++sleeping_;
    more_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
    --sleeping_;
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    ++running_;
    lock.unlock();
    job();
    job = nullptr;  // what it holds goes before it counts as done
    lock.lock();
    --running_;
    if (running_ == 0 && jobs_.empty()) idle_.notify_all();
  }
}

void CompilePool::wait() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return running_ == 0 && jobs_.empty(); });
}

void CompilePool::stop() {
  std::deque<Job> dropped;
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped = std::exchange(jobs_, {});
    threads = std::exchange(threads_, {});
    more_.notify_all();
    if (running_ == 0) idle_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tandem::cuda
