#include "device/emulated/emulated_allocator.h"

#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "device/emulated/emulated_stream.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

/// A stream whose points pass when the test says so, or when somebody waits.
class ManualStream final : public Stream {
 public:
  ManualStream() : Stream("manual") {}
  TimePoint submit(StreamTask) override { return {this, ++submitted_}; }
  void wait(TimePoint) override {}
  TimePoint now() override { return {this, submitted_}; }
  bool passed(uint64_t sequence) override { return done_ >= sequence; }
  void host_wait(uint64_t sequence) override {
    ++host_waits;
    done_ = std::max(done_, sequence);
  }
  std::exception_ptr take_error() override { return nullptr; }
  TimePoint point() { return submit({}); }
  void finish() { done_ = submitted_; }
  int host_waits = 0;

 private:
  uint64_t submitted_ = 0;
  uint64_t done_ = 0;
};

class EmulatedAllocatorTest : public ::testing::Test {
 protected:
  void free(const Allocation& a) { allocator.free(a, {}); }
  void free(const Allocation& a, std::vector<TimePoint> uses) { allocator.free(a, uses); }
  Allocation allocate(size_t bytes, Stream* stream = nullptr) {
    return allocator.allocate(bytes, stream);
  }

  EmulatedArena arena{4 * kMiB};
  EmulatedAllocator allocator{arena,
                              {.device = "/job:localhost/replica:0/task:0/device:GPU:0",
                               .allocator = "GPU_0_emulated",
                               .lane = "GPU:0"}};
  ManualStream compute, copy;
};

TEST_F(EmulatedAllocatorTest, AlignedInsideTheArenaAndCounted) {
  for (size_t bytes : {0, 1, 255, 256, 257, 1000}) {
    const Allocation a = allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.address) % 64, 0u);
    EXPECT_TRUE(EmulatedArena::owns(a.address));
    EXPECT_EQ(a.bytes, bytes);
    EXPECT_EQ(allocator.info().current, static_cast<int64_t>(a.granted));
    free(a);
    EXPECT_EQ(allocator.info().current, 0);
  }
  EXPECT_EQ(allocator.info().peak, 1024);
  EXPECT_EQ(allocator.info().limit, static_cast<int64_t>(4 * kMiB));
  allocator.reset_peak();
  EXPECT_EQ(allocator.info().peak, 0);
}

TEST_F(EmulatedAllocatorTest, NeighboursGrowTogether) {
  const Allocation a = allocate(kMiB), b = allocate(kMiB), c = allocate(kMiB),
                   d = allocate(kMiB);
  free(a);
  free(c);
  EXPECT_THROW(allocate(2 * kMiB), ResourceExhaustedError);
  free(b);
  const Allocation three = allocate(3 * kMiB);
  EXPECT_EQ(three.address, a.address);
  free(three);
  free(d);
  free(allocate(4 * kMiB));
}

TEST_F(EmulatedAllocatorTest, TakesTheBestFit) {
  const Allocation big = allocate(2 * kMiB), wall1 = allocate(256),
                   small = allocate(kMiB), wall2 = allocate(256);
  free(big);
  free(small);
  EXPECT_EQ(allocate(kMiB - 256).address, small.address);
  EXPECT_EQ(allocate(2 * kMiB).address, big.address);
  free(wall1);
  free(wall2);
}

TEST_F(EmulatedAllocatorTest, OutOfMemorySaysWhatAndWhatToDo) {
  const Allocation a = allocate(3 * kMiB);
  EXPECT_ERROR(
      allocate(2 * kMiB), ResourceExhaustedError,
      "OOM when allocating tensor with 2097152 bytes (2.00MiB) on "
      "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_emulated: limit "
      "4.00MiB, in use 3.00MiB, largest free block 1.00MiB. Drop tensors");
  EXPECT_ERROR(allocate(SIZE_MAX), ResourceExhaustedError, "OOM when allocating tensor");
  EXPECT_ERROR(allocate(SIZE_MAX - 100), ResourceExhaustedError, "OOM");
  EXPECT_EQ(allocator.info().current, static_cast<int64_t>(3 * kMiB));
  free(a);
  free(allocate(4 * kMiB));
}

TEST_F(EmulatedAllocatorTest, TheSameStreamReusesAtOnce) {
  const Allocation a = allocate(kMiB, &compute);
  free(a, {compute.point()});
  EXPECT_NE(allocate(kMiB, &copy).address, a.address);
  EXPECT_NE(allocate(kMiB, nullptr).address, a.address);
  EXPECT_EQ(allocate(kMiB, &compute).address, a.address);
  EXPECT_EQ(compute.host_waits, 0);
}

TEST_F(EmulatedAllocatorTest, OtherStreamsReuseWhenTheUseHasPassed) {
  const Allocation a = allocate(4 * kMiB, &compute);
  free(a, {compute.point()});
  compute.finish();
  EXPECT_EQ(allocate(4 * kMiB, &copy).address, a.address);
  EXPECT_EQ(compute.host_waits, 0);
}

TEST_F(EmulatedAllocatorTest, TwoStreamsUsingABlockBothMatter) {
  const Allocation a = allocate(kMiB, &compute);
  free(a, {compute.point(), copy.point(), compute.point()});
  EXPECT_NE(allocate(kMiB, &compute).address, a.address);
  copy.finish();
  EXPECT_NE(allocate(kMiB, &copy).address, a.address);
  compute.finish();
  EXPECT_EQ(allocate(kMiB, &copy).address, a.address);
}

TEST_F(EmulatedAllocatorTest, PartOfAPendingBlockStaysPending) {
  const Allocation a = allocate(4 * kMiB, &compute);
  free(a, {compute.point()});
  const Allocation part = allocate(kMiB, &compute);
  EXPECT_EQ(part.address, a.address);
  EXPECT_EQ(allocate(3 * kMiB, &compute).address,
            static_cast<std::byte*>(a.address) + kMiB);
  EXPECT_EQ(compute.host_waits, 0);
}

TEST_F(EmulatedAllocatorTest, WaitsForPendingMemoryBeforeItFails) {
  const Allocation a = allocate(2 * kMiB, &compute), b = allocate(2 * kMiB, &compute);
  free(a, {compute.point()});
  free(b, {compute.point()});
  const Allocation all = allocate(4 * kMiB, &copy);  // needs both, joined
  EXPECT_EQ(all.address, a.address);
  EXPECT_GE(compute.host_waits, 1);
}

TEST_F(EmulatedAllocatorTest, NeverWaitsOnAStreamsThread) {
  free(allocate(4 * kMiB, &compute), {compute.point()});
  on_stream_thread = true;
  EXPECT_THROW(allocate(kMiB, &compute), ResourceExhaustedError);
  on_stream_thread = false;
  EXPECT_EQ(compute.host_waits, 0);
  free(allocate(kMiB, &compute));
}

TEST_F(EmulatedAllocatorTest, MemoryGrowsWithUseAndTrimGivesItBack) {
  EXPECT_EQ(arena.resident(), 0);
  const Allocation a = allocate(kMiB), b = allocate(kMiB);
  std::memset(EmulatedArena::reachable(a.address), 1, kMiB);
  std::memset(EmulatedArena::reachable(b.address), 2, kMiB);
  EXPECT_GE(arena.resident(), static_cast<int64_t>(2 * kMiB));
  EXPECT_EQ(allocator.trim(), 0u);
  free(a);
  EXPECT_EQ(allocator.trim(), kMiB);
  EXPECT_EQ(*static_cast<char*>(EmulatedArena::reachable(b.address)), 2);
  free(b, {compute.point()});
  EXPECT_EQ(allocator.trim(), 0u);  // still in use
  compute.finish();
  EXPECT_EQ(allocator.trim(), kMiB);
  EXPECT_EQ(arena.resident(), 0);
}

TEST_F(EmulatedAllocatorTest, RandomWorkNeverOverlaps) {
  std::mt19937 random(7);
  std::vector<std::pair<Allocation, unsigned char>> live;
  for (int i = 0; i < 5000; ++i) {
    if (!live.empty() && random() % 2) {
      const size_t pick = random() % live.size();
      const auto [a, mark] = live[pick];
      const auto* p =
          static_cast<const unsigned char*>(EmulatedArena::reachable(a.address));
      ASSERT_EQ(p[0], mark);
      ASSERT_EQ(p[a.bytes - 1], mark);
      if (random() % 2) {
        free(a, {compute.point()});
      } else {
        free(a);
      }
      live[pick] = live.back();
      live.pop_back();
      if (random() % 8 == 0) compute.finish();
      continue;
    }
    try {
      const size_t bytes = 1 + random() % 100000;
      const Allocation a = allocate(bytes, random() % 2 ? &compute : nullptr);
      const auto mark = static_cast<unsigned char>(random());
      auto* p = static_cast<unsigned char*>(EmulatedArena::reachable(a.address));
      p[0] = p[bytes - 1] = mark;
      live.push_back({a, mark});
    } catch (const ResourceExhaustedError&) {
      ASSERT_FALSE(live.empty());
    }
  }
  for (const auto& [a, mark] : live) free(a);
  compute.finish();
  free(allocate(4 * kMiB));  // all of it came together again
  EXPECT_EQ(allocator.info().current, 0);
}

TEST_F(EmulatedAllocatorTest, ManyThreadsInStreamOrder) {
  EmulatedStream::Options options;
  options.lane = "worker";
  EmulatedStream stream(options);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 300; ++i) {
        const Allocation a = allocator.allocate(4 + random() % (kMiB / 4), &stream);
        auto* value = static_cast<unsigned*>(EmulatedArena::reachable(a.address));
        const unsigned mark = t * 1000 + static_cast<unsigned>(i);
        stream.submit([=](const StreamContext&) { *value = mark; });
        const TimePoint use =
            stream.submit([=](const StreamContext&) { EXPECT_EQ(*value, mark); });
        allocator.free(a, std::span(&use, 1));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  stream.now().host_wait();
  EXPECT_EQ(allocator.info().current, 0);
  free(allocate(4 * kMiB));
}

}  // namespace
}  // namespace tandem
