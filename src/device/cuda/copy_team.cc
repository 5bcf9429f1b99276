#include "device/cuda/copy_team.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include "base/core_set.h"
#include "device/cuda/driver.h"
#include "device/runtime.h"

namespace tandem::cuda {

CopyTeam::CopyTeam(int threads)
    : most_(static_cast<size_t>(std::clamp(threads, 1, kMost) - 1)) {}

CopyTeam::~CopyTeam() { stop(); }

namespace {
std::atomic<CopyTeam*> of_process{nullptr};
}

CopyTeam& CopyTeam::get() {
  static auto* const team = [] {
    const Team* const cpu = Runtime::get().cpu().team();
    of_process = new CopyTeam(cpu ? cpu->threads() : 1);
    return of_process.load();
  }();
  return *team;
}

void CopyTeam::end() {
  if (CopyTeam* const team = of_process) team->stop();
}

void CopyTeam::grow(size_t wanted) {
  try {
    while (threads_.size() < most_ && sleeping_ < wanted) {
      threads_.emplace_back([this] { help(); });
      --wanted;
    }
  } catch (const std::system_error&) {
    // No more threads for this process: those that there are will do.
  }
}

void CopyTeam::run(size_t helpers, FnRef<void(bool)> work) {
  helpers = std::min(helpers, most_);
  if (helpers == 0 || forked()) {
    work(false);
    return;
  }
  Job job{.work = work, .wanted = helpers};
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) {
      job.wanted = 0;
    } else {
      jobs_.push_back(&job);
      grow(helpers);
    }
  }
  for (size_t i = 0; i < helpers; ++i) more_.notify_one();
  std::exception_ptr error;
  try {
    work(false);
  } catch (...) {
    error = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  std::erase(jobs_, &job);
  left_.wait(lock, [&] { return job.inside == 0; });
  if (error || (error = job.error)) std::rethrow_exception(error);
}

void CopyTeam::help() {
  name_this_thread("tandem-copy");
  std::unique_lock lock(mutex_);
  while (true) {
    ++sleeping_;
    more_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
    --sleeping_;
    if (stopped_) return;
    Job& job = *jobs_.front();
    ++job.inside;
    if (--job.wanted == 0) jobs_.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      job.work(true);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (!job.error) job.error = error;
    if (--job.inside == 0) left_.notify_all();
  }
}

void CopyTeam::stop() {
  if (forked()) return;  // the threads are the parent's
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    threads = std::exchange(threads_, {});
  }
  more_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tandem::cuda
