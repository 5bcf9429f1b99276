// Intra-op parallelism. A Team is the set of threads one device may use at a time; its
// token is held by one caller, everybody else runs single-threaded. Work below the grain
// runs inline. OpenMP underneath (plain threads in the TSan build), so that oneDNN shares
// the same workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/core_set.h"
#include "base/fn_ref.h"

namespace tandem {

class Team {
 public:
  /// Workers are bound to `cores` when it is not empty; the caller's thread never is.
  explicit Team(int threads, CoreSet cores = {})
      : threads_(threads), cores_(std::move(cores)) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  int threads() const { return threads_.load(std::memory_order_relaxed); }
  void set_threads(int threads) { threads_.store(threads, std::memory_order_relaxed); }
  const CoreSet& cores() const { return cores_; }

 private:
  friend class TeamToken;
  std::atomic<int> threads_;
  const CoreSet cores_;
  std::atomic<bool> held_{false};
};

/// Tries to take the team for the time of one kernel. `threads()` is the team's size when
/// it was free or this thread holds it already, else 1 (also inside a parallel range).
/// OpenMP's thread count of the calling thread is set accordingly while the token lives.
class TeamToken {
 public:
  explicit TeamToken(Team* team);
  TeamToken(const TeamToken&) = delete;
  TeamToken& operator=(const TeamToken&) = delete;
  ~TeamToken();
  int threads() const { return threads_; }

 private:
  Team* team_ = nullptr;      // held by this token; null when another one holds it
  Team* previous_ = nullptr;  // what this thread held before
  int threads_ = 1;
  int previous_threads_ = 0;  // OpenMP's count before, 0: not changed
};

/// The team that parallel_for uses on this thread (set by whoever runs kernels here).
Team* current_team();
class CurrentTeam {
 public:
  explicit CurrentTeam(Team* team);
  CurrentTeam(const CurrentTeam&) = delete;
  CurrentTeam& operator=(const CurrentTeam&) = delete;
  ~CurrentTeam();

 private:
  Team* previous_;
};

/// Calls body(begin, end) over disjoint ranges that cover [0, n), possibly from several
/// threads. `grain` is the number of items worth about 20 µs; below it the call is
/// inline. The ranges depend on n, grain and the team's size alone. An exception in a
/// range is rethrown here.
void parallel_for(int64_t n, int64_t grain, FnRef<void(int64_t, int64_t)> body);

/// Like parallel_for, with at most `max_parts` numbered parts: body(part, begin, end).
/// Returns the number of parts. For reductions that combine per-part results in part
/// order: the parts depend on n, grain and max_parts alone, so that the result is the
/// same for any team.
int parallel_parts(int64_t n, int64_t grain, int max_parts,
                   FnRef<void(int, int64_t, int64_t)> body);

}  // namespace tandem
