#include "base/shared_lock.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tandem {
namespace {

using std::chrono::milliseconds;
using Mode = SharedLock::Mode;

TEST(SharedLock, OneAloneOrManyTogether) {
  SharedLock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock_shared());
  lock.unlock();
  ASSERT_TRUE(lock.try_lock_shared());
  ASSERT_TRUE(lock.try_lock_shared());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock_shared();
  EXPECT_FALSE(lock.try_lock());
  lock.unlock_shared();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(SharedLock, WaitingCanBeGivenUp) {
  SharedLock lock;
  lock.lock();
  EXPECT_FALSE(lock.lock_within(milliseconds(1), Mode::kExclusive));
  EXPECT_FALSE(lock.lock_within(milliseconds(1), Mode::kShared));
  lock.unlock();
  // Who gave up has left nothing behind.
  EXPECT_TRUE(lock.lock_within(milliseconds(1), Mode::kShared));
  EXPECT_TRUE(lock.lock_within(milliseconds(1), Mode::kShared));
  EXPECT_FALSE(lock.lock_within(milliseconds(1), Mode::kExclusive));
  lock.unlock_shared();
  lock.unlock_shared();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// The holder lets go only when the other has been seen waiting in vain at least once, so
// that it must be woken.
void expect_woken(Mode held, Mode wanted) {
  SharedLock lock;
  held == Mode::kExclusive ? lock.lock() : lock.lock_shared();
  std::atomic<int> turns{0};
  std::atomic<bool> has{false};
  std::thread other([&] {
    while (!lock.lock_within(milliseconds(turns < 2 ? 1 : 600'000), wanted)) ++turns;
    has = true;
    wanted == Mode::kExclusive ? lock.unlock() : lock.unlock_shared();
  });
  while (turns < 2) std::this_thread::yield();
  EXPECT_FALSE(has);
  held == Mode::kExclusive ? lock.unlock() : lock.unlock_shared();
  other.join();
  EXPECT_TRUE(has);
}

TEST(SharedLock, WhoWaitsIsWoken) {
  expect_woken(Mode::kExclusive, Mode::kExclusive);
  expect_woken(Mode::kExclusive, Mode::kShared);
  expect_woken(Mode::kShared, Mode::kExclusive);
}

// Two numbers that writers keep equal; who reads or writes looks whether they are.
TEST(SharedLock, ManyThreads) {
  constexpr int kThreads = 4, kTurns = 3000;
  SharedLock lock;
  int64_t first = 0, second = 0;
  std::atomic<int64_t> torn{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < kTurns; ++turn) {
        if ((turn + i) % 3 == 0) {
          const std::shared_lock guard(lock);
          torn += first != second;
        } else {
          const std::lock_guard guard(lock);
          torn += first++ != second++;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(first, kThreads * kTurns * 2 / 3);
}

}  // namespace
}  // namespace tandem
