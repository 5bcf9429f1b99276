// CopyTeam: threads that help whoever moves much memory between pageable memory and
// page-locked blocks, which one core does slower than the link to a GPU. They start with
// the first large copy, no more of them than the CPU device was given threads, and are
// joined when the process exits. Nobody depends on them: a caller goes on alone while
// they are busy elsewhere, so that a call from any thread comes to its end. Any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fn_ref.h"

namespace tandem::cuda {

class CopyTeam {
 public:
  /// With the caller: as many as fill the widest link there is.
  static constexpr int kMost = 8;

  /// `threads` with the caller, no more than kMost.
  explicit CopyTeam(int threads);
  CopyTeam(const CopyTeam&) = delete;
  CopyTeam& operator=(const CopyTeam&) = delete;
  ~CopyTeam();
  /// The team of the process, and its end: threads are joined where there are any.
  static CopyTeam& get();
  static void end();

  /// Calls work(false) here, and while that runs work(true) on up to `helpers` other
  /// threads; returns when all have returned. `work` shares itself out. Throws what the
  /// caller's part threw, else the first of the others.
  void run(size_t helpers, FnRef<void(bool helping)> work);
  /// Joins the threads; from now on callers are alone.
  void stop();

 private:
  struct Job {
    FnRef<void(bool)> work;
    size_t wanted;      // who may still join
    size_t inside = 0;  // who has joined and not left
    std::exception_ptr error = nullptr;
  };
  void help();
  /// Starts threads for `wanted` more helpers where they are not there. Locked.
  void grow(size_t wanted);

  const size_t most_;  // helpers
  std::mutex mutex_;
  std::condition_variable more_, left_;
  std::deque<Job*> jobs_;  // with room for helpers
  size_t sleeping_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tandem::cuda
