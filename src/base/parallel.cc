#include "base/parallel.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include <pthread.h>

#ifdef TANDEM_NO_OPENMP
#include <thread>
#include <vector>
#else
#include <omp.h>
#endif

#include "base/denormals.h"
#include "base/single_thread.h"
#include "base/thread_state.h"

namespace tandem {
namespace {

#ifdef TANDEM_NO_OPENMP
int omp_get_max_threads() { return 1; }
void omp_set_num_threads(int) {}
#endif

/// Marks the thread as working on a range: nested calls run inline.
class InsideRange {
 public:
  InsideRange() : previous_(std::exchange(t_thread.inside_range, true)) {}
  InsideRange(const InsideRange&) = delete;
  InsideRange& operator=(const InsideRange&) = delete;
  ~InsideRange() { t_thread.inside_range = previous_; }

 private:
  bool previous_;
};

/// Keeps the exception of the lowest part, so that the same one is thrown every time.
class FirstError {
 public:
  void keep(int part) {
    std::lock_guard lock(mutex_);
    if (error_ && part_ <= part) return;
    error_ = std::current_exception();
    part_ = part;
  }
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  int part_ = 0;
};

/// Runs member(i) for i in [0, threads), each on a thread of its own. `member` does not
/// throw.
void run_team(int threads, FnRef<void(int, int)> member) {
#ifdef TANDEM_NO_OPENMP
  // ThreadSanitizer cannot see libgomp's barriers. Threads that live for one call are
  // slower, but it understands them fully.
  std::vector<std::jthread> workers;
  for (int i = 1; i < threads; ++i) {
    workers.emplace_back([member, i, threads] { member(i, threads); });
  }
  member(0, threads);
#else
  // Always the whole team: libgomp ends the workers that a smaller region leaves over.
#pragma omp parallel num_threads(threads)
  member(omp_get_thread_num(), omp_get_num_threads());
#endif
}

/// OpenMP keeps one set of workers per calling thread. Binds those of this thread, once.
void bind_workers(const Team& team, int threads) {
  thread_local const Team* bound = nullptr;
  if (bound == &team || team.cores().cores.empty()) return;
  bound = &team;
  run_team(threads, [&](int member, int) {
    if (member > 0) bind_this_thread(team.cores());
  });
}

void run_parts(int64_t n, int parts, FnRef<void(int, int64_t, int64_t)> body) {
  const auto run = [&](int part) {
    body(part, n * part / parts, n * (part + 1) / parts);
  };
  if (parts == 1 || t_thread.inside_range || !t_thread.team) {
    for (int part = 0; part < parts; ++part) run(part);
    return;
  }
  TeamToken token(t_thread.team);
  if (token.threads() == 1) {
    for (int part = 0; part < parts; ++part) run(part);
    return;
  }
  FirstError error;
  const uint64_t modes = float_modes();
  run_team(token.threads(), [&](int member, int members) {
    InsideRange inside;
    if (member > 0 && float_modes() != modes) set_float_modes(modes);
    for (int part = member; part < parts; part += members) {
      try {
        run(part);
      } catch (...) {
        error.keep(part);
      }
    }
  });
  error.rethrow();
}

int64_t grains(int64_t n, int64_t grain) {
  grain = std::max<int64_t>(grain, 1);
  return n / grain + (n % grain != 0);
}

}  // namespace

namespace {
// Threads do not survive a fork, and OpenMP would wait for them for ever: what runs in
// the child runs on the thread that forked.
std::atomic<bool> g_forked{false};
[[maybe_unused]] const int g_watches_forks =
    pthread_atfork(nullptr, nullptr, [] { g_forked.store(true); });
}  // namespace

TeamToken::TeamToken(Team* team) {
  if (!team || t_thread.inside_range) return;
  if (t_thread.held_team == team) {
    threads_ = team->threads();
    return;
  }
  const int wanted = g_forked.load(std::memory_order_relaxed) ? 1 : team->threads();
  if (wanted > 1 && !team->held_.exchange(true, std::memory_order_acquire)) {
    team_ = team;
    threads_ = wanted;
    previous_ = std::exchange(t_thread.held_team, team);
    bind_workers(*team, wanted);
  }
  previous_threads_ = omp_get_max_threads();
  omp_set_num_threads(threads_);
}

TeamToken::~TeamToken() {
  if (previous_threads_ > 0) omp_set_num_threads(previous_threads_);
  if (!team_) return;
  t_thread.held_team = previous_;
  team_->held_.store(false, std::memory_order_release);
}

// As in a range: kernels run inline. OpenMP regions of libraries get one thread, too.
SingleThread::SingleThread()
    : previous_(std::exchange(t_thread.inside_range, true)),
      previous_threads_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}
SingleThread::~SingleThread() {
  t_thread.inside_range = previous_;
  omp_set_num_threads(previous_threads_);
}

Team* current_team() { return t_thread.team; }

CurrentTeam::CurrentTeam(Team* team) : previous_(std::exchange(t_thread.team, team)) {}
CurrentTeam::~CurrentTeam() { t_thread.team = previous_; }

void parallel_for(int64_t n, int64_t grain, FnRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  if (n <= grain || t_thread.inside_range || !t_thread.team) {
    body(0, n);
    return;
  }
  const int parts =
      static_cast<int>(std::min<int64_t>(grains(n, grain), t_thread.team->threads()));
  run_parts(n, parts, [&](int, int64_t begin, int64_t end) { body(begin, end); });
}

int parallel_parts(int64_t n, int64_t grain, int max_parts,
                   FnRef<void(int, int64_t, int64_t)> body) {
  if (n <= 0) return 0;
  const int parts =
      static_cast<int>(std::min<int64_t>(grains(n, grain), std::max(max_parts, 1)));
  run_parts(n, parts, body);
  return parts;
}

}  // namespace tandem
