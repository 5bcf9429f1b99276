// Threads of pipelines: early destruction, cancellation, no deadlock, bounded queues.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/core_set.h"
#include "cpu/data/data_support.h"
#include "data/cancellation.h"
#include "data/worker_thread.h"

namespace tandem::data {
namespace {

// Every kind of stage that has threads, one behind the other.
Dataset threaded(const Dataset& input) {
  return input.map(times(1), {.num_parallel_calls = 3, .components = kNumber})
      .prefetch(2)
      .interleave([](const Element& e) { return from_tensors(e).repeat(2).prefetch(1); },
                  {.cycle_length = 3, .num_parallel_calls = 2})
      .batch({.batch_size = 2})
      .prefetch();
}

TEST(Threads, DestroyedAtAnyTime) {
  for (int elements = 0; elements < 12; ++elements) {
    Iterator iterator(threaded(range(0, 1000)));
    Element element;
    for (int i = 0; i < elements; ++i) ASSERT_TRUE(iterator.next(element));
  }
}

TEST(Threads, DestroyedWhileEndlessWorkIsUnderWay) {
  const Dataset never = range(0, 10).repeat().filter(
      [](std::span<const Tensor>) { return Element{constant(false)}; });
  Iterator iterator(never.prefetch(1));
  std::atomic<bool> waiting{false};
  std::thread waiter([&] {
    Element element;
    waiting = true;
    EXPECT_THROW(iterator.next(element), CancelledError);
  });
  while (!waiting) std::this_thread::yield();
  iterator.cancel();
  waiter.join();
}

TEST(Threads, CancelledFromOutside) {
  Iterator iterator(threaded(range(0, 10).repeat()));
  Element element;
  ASSERT_TRUE(iterator.next(element));
  iterator.cancel();
  EXPECT_THROW(iterator.next(element), CancelledError);
  EXPECT_THROW(iterator.next(element), CancelledError);
}

TEST(Threads, QueuesAreBounded) {
  std::atomic<int64_t> made{0};
  const Dataset counted = range(0, 1000).map([&](std::span<const Tensor> e) {
    ++made;
    return Element(e.begin(), e.end());
  });
  Iterator iterator(counted.prefetch(3));
  Element element;
  ASSERT_TRUE(iterator.next(element));
  while (made < 4) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // One given out, three in the queue.
  EXPECT_EQ(made, 4);
}

TEST(Threads, TheClaimOfTheirCoresGoesWithThem) {
  const auto claims = [] {
    int64_t n = 0;
    for (const CoreClaim& c : core_claims()) n += c.owner == "data workers";
    return n;
  };
  {
    Iterator iterator(range(0, 100).prefetch(1));
    Element element;
    ASSERT_TRUE(iterator.next(element));
    EXPECT_EQ(claims(), 1);
  }
  EXPECT_EQ(claims(), 0);
}

TEST(Threads, AnInterruptEndsAWait) {
  struct Interrupt {};
  const Dataset never = range(0, 10).repeat().filter(
      [](std::span<const Tensor>) { return Element{constant(false)}; });
  for (const Dataset& d : {never, never.prefetch(1)}) {
    Iterator iterator(d);
    const InterruptScope scope([](void*) { throw Interrupt(); });
    Element element;
    EXPECT_THROW(iterator.next(element), Interrupt);
  }
}

// Several stages of one pass are taken down one after the other: what the first has
// waited counts for the next.
TEST(Threads, ThatDoNotReturnAreLeftBehindAWhileAfterTheyWereTold) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
  };
  const auto gate = std::make_shared<Gate>();
  std::vector<Worker> workers;
  workers.emplace_back("data-test", [gate] {
    std::unique_lock lock(gate->mutex);
    gate->changed.wait(lock, [&] { return gate->open; });
  });
  Worker::end(workers, std::chrono::steady_clock::now() - std::chrono::hours(1));
  EXPECT_TRUE(workers.empty());
  EXPECT_TRUE(Worker::left_behind());
  {
    const std::lock_guard lock(gate->mutex);
    gate->open = true;
  }
  gate->changed.notify_all();
  while (Worker::left_behind()) std::this_thread::yield();
}

TEST(Threads, OneDatasetServesManyIterators) {
  const Dataset shared = threaded(range(0, 60)).cache();
  std::vector<std::thread> readers;
  std::atomic<int64_t> total{0};
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      int64_t sum = 0;
      for (const Element& e : shared) {
        for (const int64_t n : e[0].to_vector<int64_t>()) sum += n;
      }
      total += sum;
    });
  }
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(total, 4 * 2 * 59 * 60 / 2);
}

}  // namespace
}  // namespace tandem::data
