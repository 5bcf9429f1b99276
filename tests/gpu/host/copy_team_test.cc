// The threads that help with large copies, and the copy that they do.
#include "device/cuda/copy_team.h"

#include <atomic>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "device/cuda/streaming_copy.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

/// Waits until `n` threads have come.
struct Meeting {
  std::atomic<int> here{0};
  void come(int n) {
    ++here;
    while (here < n) std::this_thread::yield();
  }
};

TEST(CopyTeam, OthersHelpWhileTheCallerWorks) {
  CopyTeam team(4);
  for (int round = 0; round < 20; ++round) {
    Meeting meeting;
    std::mutex mutex;
    std::set<std::thread::id> threads;
    std::atomic<int> callers{0};
    team.run(3, [&](bool helping) {
      callers += !helping;
      {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      }
      meeting.come(4);
    });
    EXPECT_EQ(threads.size(), 4u);
    EXPECT_EQ(callers, 1);
  }
}

TEST(CopyTeam, NoMoreThreadsThanWereGiven) {
  CopyTeam alone(1), two(2);
  std::atomic<int> calls{0};
  alone.run(7, [&](bool helping) {
    EXPECT_FALSE(helping);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  Meeting meeting;
  std::atomic<int> most{0};
  two.run(7, [&](bool) {
    meeting.come(2);
    most = std::max(most.load(), meeting.here.load());
  });
  EXPECT_EQ(most, 2);
}

// Helpers are all with somebody who does not let them go: others come to their end.
TEST(CopyTeam, ABusyTeamKeepsNobodyWaiting) {
  CopyTeam team(3);
  Meeting meeting;
  std::atomic<bool> over{false};
  std::thread first([&] {
    team.run(2, [&](bool) {
      meeting.come(3);
      while (!over) std::this_thread::yield();
    });
  });
  while (meeting.here < 3) std::this_thread::yield();
  int calls = 0;
  team.run(2, [&](bool helping) {
    EXPECT_FALSE(helping);
    ++calls;
    // A caller may itself call for help.
    team.run(2, [&](bool) { ++calls; });
  });
  EXPECT_EQ(calls, 2);
  over = true;
  first.join();
}

TEST(CopyTeam, AnErrorOfAHelperIsTheCallers) {
  CopyTeam team(2);
  Meeting meeting;
  const auto run = [&](bool who) {
    meeting.here = 0;
    team.run(1, [&](bool helping) {
      meeting.come(2);
      if (helping == who) throw InternalError(who ? "a helper's" : "the caller's");
    });
  };
  EXPECT_THROW(run(true), InternalError);
  EXPECT_THROW(run(false), InternalError);
  int calls = 0;
  team.run(0, [&](bool) { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(CopyTeam, AfterItsEndCallersAreAlone) {
  CopyTeam team(4);
  std::atomic<int> calls{0};
  team.run(3, [&](bool) { ++calls; });
  team.stop();
  calls = 0;
  team.run(3, [&](bool) { ++calls; });
  EXPECT_EQ(calls, 1);
  team.stop();
}

TEST(CopyTeam, ManyCallersShareIt) {
  CopyTeam team(CopyTeam::kMost);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<int> next{0}, sum{0};
        team.run(5, [&](bool) {
          for (int i; (i = next.fetch_add(1)) < 30;) sum += i;
        });
        wrong += sum != 435;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Sizes around a group of pages, with every alignment of both sides, and not a byte more.
TEST(StreamingCopy, CopiesWhatItIsTold) {
  constexpr size_t kMost = 300 << 10;
  std::vector<std::byte> from(kMost + 128), to(kMost + 256);
  for (size_t i = 0; i < from.size(); ++i) from[i] = std::byte(i * 131 + i / 251);
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{4096}, size_t{32767},
                       size_t{32768}, size_t{32769}, size_t{65537}, kMost}) {
    for (size_t in : {0, 1, 16, 63}) {
      for (size_t out : {0, 1, 15, 32, 64}) {
        std::fill(to.begin(), to.end(), std::byte{0xEE});
        streaming_copy(to.data() + out, from.data() + in, bytes);
        ASSERT_EQ(std::memcmp(to.data() + out, from.data() + in, bytes), 0)
            << bytes << " " << in << " " << out;
        const auto kept = [](std::byte b) { return b == std::byte{0xEE}; };
        const auto end = static_cast<std::ptrdiff_t>(out + bytes);
        ASSERT_TRUE(
            std::all_of(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(out), kept));
        ASSERT_TRUE(std::all_of(to.begin() + end, to.end(), kept)) << bytes << " " << out;
      }
    }
  }
}

}  // namespace
}  // namespace tandem::cuda
