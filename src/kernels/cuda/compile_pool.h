// CompilePool: the threads that compile kernels ahead of their first launch. All programs
// of a plan are asked for when it is made, and compile side by side, at low priority.
// Threads start with the first job and are joined when the process exits; jobs that
// nobody has begun by then are dropped. Any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem::cuda {

class CompilePool {
 public:
  using Job = std::function<void()>;  // must not throw
  static constexpr int kMostThreads = 8;

  enum class Priority { kUsual, kLow };
  /// No more than kMostThreads.
  explicit CompilePool(int threads, Priority priority = Priority::kUsual);
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;
  ~CompilePool();
  /// The pool of the process: as many threads as it has cores.
  static CompilePool& get();

  void submit(Job job);
  /// Waits until nothing is left to do.
  void wait();
  /// Drops what has not begun, waits for the rest, joins the threads. Later jobs are
  /// dropped at once.
  void stop();

 private:
  void work();

  const size_t most_;
  const Priority priority_;
  std::mutex mutex_;
  std::condition_variable more_, idle_;
  std::deque<Job> jobs_;
  size_t running_ = 0, sleeping_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tandem::cuda
