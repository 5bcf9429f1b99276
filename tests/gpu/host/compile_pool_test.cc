// The threads that compile kernels: they work side by side, and end in order.
#include "kernels/cuda/compile_pool.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kernels/cuda/compiler.h"

namespace tandem::cuda {
namespace {

TEST(CompilePool, JobsRunSideBySide) {
  CompilePool pool(3);
  // Each waits for the two others: with fewer threads none would go on.
  std::barrier together(3);
  std::atomic<int> ran{0};
  for (int i = 0; i < 3; ++i) {
    pool.submit([&] {
      together.arrive_and_wait();
      ++ran;
    });
  }
  pool.wait();
  EXPECT_EQ(ran, 3);
}

TEST(CompilePool, WaitingIsForEverythingGivenSoFar) {
  CompilePool pool(2);
  std::atomic<int> ran{0};
  for (int round = 1; round <= 50; ++round) {
    for (int i = 0; i < 7; ++i) pool.submit([&] { ++ran; });
    pool.wait();
    EXPECT_EQ(ran, round * 7);
  }
  CompilePool idle(2);
  idle.wait();  // nothing was ever given
}

TEST(CompilePool, NoMoreThreadsThanAllowed) {
  CompilePool pool(2);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int i = 0; i < 100; ++i) {
    pool.submit([&] {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  pool.wait();
  EXPECT_LE(seen.size(), 2u);
  EXPECT_FALSE(seen.contains(std::this_thread::get_id()));
}

// What has begun is finished, the rest is dropped; nobody waits for ever.
TEST(CompilePool, StoppingFinishesWhatHasBegunAndDropsTheRest) {
  CompilePool pool(1);
  std::atomic<bool> begun{false}, go{false};
  std::atomic<int> ran{0};
  const auto held = std::make_shared<int>(0);
  pool.submit([&] {
    begun = true;
    while (!go) std::this_thread::yield();
    ++ran;
  });
  while (!begun) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) pool.submit([&ran, held] { ++ran; });
  std::thread stopper([&] { pool.stop(); });
  go = true;
  stopper.join();
  const int before = ran;
  EXPECT_GE(before, 1);  // those that it came to before it was told
  EXPECT_EQ(held.use_count(), 1);
  pool.submit([&] { ++ran; });
  pool.wait();
  EXPECT_EQ(ran, before);
}

// NVRTC itself, from several threads at once.
TEST(CompilePool, ProgramsCompileAtTheSameTime) {
  CompilePool pool(CompilePool::kMostThreads);
  std::atomic<int> good{0};
  for (int i = 0; i < 12; ++i) {
    pool.submit([&good, i] {
      const std::string source = "extern \"C\" __global__ void f" + std::to_string(i) +
                                 "(float* x) { x[threadIdx.x] += " + std::to_string(i) +
                                 ".0f; }";
      try {
        good += !compile("f", source, 90).code.empty();
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    });
  }
  pool.wait();
  EXPECT_EQ(good, 12);
}

// NVRTC's objects go when the process exits; threads that compile must be gone by then.
TEST(CompilePool, AProcessMayExitWhileItCompiles) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto compile_and_exit = [] {
    constexpr CompileTarget kTarget{90, false};
    begin_compiling(kTarget, [] { CompilePool::get().stop(); });
    for (int i = 0; i < 200; ++i) {
      CompilePool::get().submit([i] {
        const std::string text = fmt::format(
            "// {}\nextern \"C\" __global__ void loop(float* p) {{\n"
            "  for (int i = 0; i < {}; ++i) *p += sinf(*p);\n}}\n",
            getpid(), i);
        compile_into(::testing::TempDir(), "loop", text, kTarget);
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::exit(0);
  };
  EXPECT_EXIT(compile_and_exit(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tandem::cuda
