#include "base/parallel.h"

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tandem {
namespace {

using Range = std::pair<int64_t, int64_t>;

std::set<Range> ranges(int64_t n, int64_t grain) {
  std::mutex mutex;
  std::set<Range> result;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    result.insert({begin, end});
  });
  return result;
}

TEST(Parallel, CoversEverythingOnce) {
  Team team(3);
  CurrentTeam current(&team);
  for (int64_t n : {0, 1, 2, 99, 100, 101, 1000, 4097}) {
    std::vector<int> count(static_cast<size_t>(n));
    parallel_for(n, 100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++count[static_cast<size_t>(i)];
    });
    for (int c : count) ASSERT_EQ(c, 1) << n;
  }
}

TEST(Parallel, BelowTheGrainIsInline) {
  Team team(4);
  CurrentTeam current(&team);
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  parallel_for(100, 100, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 100);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(Parallel, WithoutATeamIsInline) {
  EXPECT_EQ(current_team(), nullptr);
  EXPECT_EQ(ranges(1000, 10), (std::set<Range>{{0, 1000}}));
}

TEST(Parallel, UsesSeveralThreads) {
  Team team(2);
  CurrentTeam current(&team);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  parallel_for(1000, 10, [&](int64_t, int64_t) {
    std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST(Parallel, RangesDoNotDependOnWhoHoldsTheToken) {
  Team team(3);
  CurrentTeam current(&team);
  const auto free = ranges(1000, 10);
  EXPECT_EQ(free.size(), 3u);
  std::atomic<bool> held{false}, stop{false};
  std::thread holder([&] {
    TeamToken token(&team);
    EXPECT_EQ(token.threads(), 3);
    held = true;
    while (!stop) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  EXPECT_EQ(TeamToken(&team).threads(), 1);
  EXPECT_EQ(ranges(1000, 10), free);
  stop = true;
  holder.join();
  EXPECT_EQ(TeamToken(&team).threads(), 3);
}

TEST(Parallel, TheHolderOfTheTokenKeepsIt) {
  Team team(2);
  CurrentTeam current(&team);
  {
    TeamToken outer(&team);
    ASSERT_EQ(outer.threads(), 2);
    TeamToken inner(&team);
    EXPECT_EQ(inner.threads(), 2);
    EXPECT_EQ(ranges(1000, 10).size(), 2u);
  }
  EXPECT_EQ(TeamToken(&team).threads(), 2);
}

TEST(Parallel, NestedCallsRunInline) {
  Team team(2);
  CurrentTeam current(&team);
  std::atomic<int> inner_ranges{0};
  parallel_for(1000, 10, [&](int64_t, int64_t) {
    const auto here = std::this_thread::get_id();
    CurrentTeam again(&team);
    EXPECT_EQ(TeamToken(&team).threads(), 1);
    parallel_for(1000, 10, [&](int64_t, int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      ++inner_ranges;
    });
  });
  EXPECT_EQ(inner_ranges, 2);
}

TEST(Parallel, ErrorsReachTheCallerAndNothingIsLost) {
  Team team(4);
  CurrentTeam current(&team);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<int> ran{0};
    try {
      parallel_for(1000, 10, [&](int64_t begin, int64_t) {
        ++ran;
        if (begin > 0) throw std::runtime_error(std::to_string(begin));
      });
      FAIL() << "no error";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "250");  // of several, the lowest range's
    }
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(TeamToken(&team).threads(), 4);
  }
}

TEST(Parallel, PartsDoNotDependOnTheTeam) {
  const auto sums = [](int threads) {
    Team team(threads);
    CurrentTeam current(&team);
    std::vector<float> part_sums(8);
    const int parts = parallel_parts(10000, 100, 8, [&](int p, int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        part_sums[static_cast<size_t>(p)] += 1.0f / static_cast<float>(i + 1);
      }
    });
    EXPECT_EQ(parts, 8);
    return std::accumulate(part_sums.begin(), part_sums.end(), 0.0f);
  };
  const float one = sums(1);
  EXPECT_EQ(sums(2), one);
  EXPECT_EQ(sums(5), one);
}

TEST(Parallel, FewItemsMakeFewParts) {
  Team team(4);
  CurrentTeam current(&team);
  EXPECT_EQ(parallel_parts(0, 10, 8, [](int, int64_t, int64_t) { FAIL(); }), 0);
  EXPECT_EQ(parallel_parts(25, 10, 8, [](int, int64_t, int64_t) {}), 3);
  EXPECT_EQ(parallel_parts(5, 0, 2, [](int, int64_t, int64_t) {}), 2);
}

TEST(Parallel, ManyThreadsShareATeam) {
  Team team(2);
  std::vector<std::thread> threads;
  std::atomic<int64_t> total{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      CurrentTeam current(&team);
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::atomic<int64_t> sum{0};
        parallel_for(1000, 100, [&](int64_t begin, int64_t end) { sum += end - begin; });
        total += sum;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(total, 4 * 50 * 1000);
}

TEST(Parallel, WorkersAreBoundTheCallerIsNot) {
  const CoreSet all = available_cores();
  if (all.size() < 2) GTEST_SKIP() << "one core only";
#ifdef TANDEM_NO_OPENMP
  GTEST_SKIP() << "plain threads are not bound";
#endif
  Team team(2, {{all.cores.front()}});
  CurrentTeam current(&team);
  const auto caller = std::this_thread::get_id();
  std::mutex mutex;
  parallel_for(1000, 10, [&](int64_t, int64_t) {
    std::lock_guard lock(mutex);
    const bool worker = std::this_thread::get_id() != caller;
    EXPECT_EQ(available_cores().size(), worker ? 1 : all.size());
  });
}

}  // namespace
}  // namespace tandem
