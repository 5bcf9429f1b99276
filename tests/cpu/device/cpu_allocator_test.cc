#include "device/cpu/cpu_allocator.h"

#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/recorder.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem {
namespace {

CpuAllocator::Options options(int64_t limit = 0, int64_t cache = 64 << 20) {
  return {.device = "/device:CPU:0",
          .lane = "CPU:0",
          .memory_limit = limit,
          .cache_bytes = cache};
}

/// A stream whose points pass when the test says so.
class ManualStream final : public Stream {
 public:
  ManualStream() : Stream("manual") {}
  TimePoint submit(StreamTask) override { return {this, ++submitted_}; }
  void wait(TimePoint) override {}
  TimePoint now() override { return {this, submitted_}; }
  bool passed(uint64_t sequence) override { return done_ >= sequence; }
  void host_wait(uint64_t sequence) override {
    ++host_waits;
    if (std::exchange(interrupted, false)) throw CancelledError("interrupted");
    done_ = std::max(done_, sequence);
  }
  std::exception_ptr take_error() override { return nullptr; }
  void finish() { done_ = submitted_; }
  int host_waits = 0;
  bool interrupted = false;  // the next wait

 private:
  uint64_t submitted_ = 0;
  uint64_t done_ = 0;
};

TEST(CpuAllocator, AlignedUsableAndCounted) {
  CpuAllocator allocator(options());
  std::vector<Allocation> all;
  for (size_t bytes : {0, 1, 63, 64, 65, 1000, 1023, 1024, 1025, 1152, 1153, 4096, 100000,
                       (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20}) {
    const Allocation a = allocator.allocate(bytes, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.address) % 64, 0u);
    EXPECT_EQ(a.bytes, bytes);
    EXPECT_GE(a.granted, bytes);
    if (bytes >= 1024) {
      EXPECT_LE(a.granted, bytes + bytes / 32 + 64);
    }
    std::memset(a.address, static_cast<int>(all.size()), bytes);
    all.push_back(a);
  }
  int64_t sum = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto* p = static_cast<const unsigned char*>(all[i].address);
    for (size_t k = 0; k < all[i].bytes; k += 61) ASSERT_EQ(p[k], i);
    sum += static_cast<int64_t>(all[i].granted);
  }
  EXPECT_EQ(allocator.info().current, sum);
  EXPECT_EQ(allocator.info().peak, sum);
  for (const Allocation& a : all) allocator.free(a, {});
  EXPECT_EQ(allocator.info().current, 0);
  EXPECT_EQ(allocator.info().peak, sum);
  allocator.reset_peak();
  EXPECT_EQ(allocator.info().peak, 0);
}

TEST(CpuAllocator, LargeBlocksStayWarm) {
  CpuAllocator allocator(options());
  const Allocation first = allocator.allocate(8 << 20, nullptr);
  allocator.free(first, {});
  EXPECT_EQ(allocator.cached(), 8 << 20);
  const Allocation second = allocator.allocate((8 << 20) - 100, nullptr);
  EXPECT_EQ(second.address, first.address);
  EXPECT_EQ(allocator.cached(), 0);
  allocator.free(second, {});
  EXPECT_EQ(allocator.trim(), size_t{8} << 20);
  EXPECT_EQ(allocator.cached(), 0);
}

TEST(CpuAllocator, TheCacheIsBoundedAndOldClassesGoFirst) {
  CpuAllocator allocator(options(0, 4 << 20));
  const auto touch = [&](size_t bytes) {
    const Allocation a = allocator.allocate(bytes, nullptr);
    allocator.free(a, {});
    return a.address;
  };
  touch(2 << 20);
  void* recent = touch(3 << 19);
  touch(1 << 20);  // 2 + 1.5 + 1 MiB: the oldest, 2 MiB, has to go
  EXPECT_LE(allocator.cached(), 4 << 20);
  EXPECT_EQ(touch(3 << 19), recent);
  touch(8 << 20);  // more than the whole cache: never kept
  EXPECT_LE(allocator.cached(), 4 << 20);
}

TEST(CpuAllocator, FailsAtItsLimitAndGoesOn) {
  CpuAllocator allocator(options(1 << 20));
  const Allocation half = allocator.allocate(1 << 19, nullptr);
  EXPECT_ERROR(allocator.allocate(1 << 20, nullptr), ResourceExhaustedError,
               "limit 1.00MiB, in use 512.00KiB");
  EXPECT_EQ(allocator.info().current, 1 << 19);
  const Allocation rest = allocator.allocate(1 << 19, nullptr);
  EXPECT_ERROR(allocator.allocate(1, nullptr), ResourceExhaustedError,
               "set_logical_device_configuration");
  allocator.free(half, {});
  allocator.free(rest, {});
  EXPECT_EQ(allocator.info().limit, 1 << 20);
  allocator.free(allocator.allocate(1 << 20, nullptr), {});
}

TEST(CpuAllocator, AbsurdSizesAreErrors) {
  CpuAllocator allocator(options());
  for (size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 50, size_t{1} << 46}) {
    EXPECT_ERROR(allocator.allocate(bytes, nullptr), ResourceExhaustedError,
                 "OOM when allocating tensor");
  }
  EXPECT_EQ(allocator.info().current, 0);
}

TEST(CpuAllocator, WaitsForTheLastUse) {
  CpuAllocator allocator(options());
  ManualStream stream;
  const TimePoint use = stream.submit({});
  const Allocation a = allocator.allocate(1 << 20, nullptr);
  allocator.free(a, std::span(&use, 1));
  EXPECT_EQ(allocator.info().current, 1 << 20);
  const Allocation b = allocator.allocate(1 << 20, nullptr);
  EXPECT_NE(b.address, a.address);
  stream.finish();
  const Allocation c = allocator.allocate(1 << 20, nullptr);
  EXPECT_EQ(c.address, a.address);
  EXPECT_EQ(stream.host_waits, 1);  // passed already: does not block
  allocator.free(b, {});
  allocator.free(c, {});
}

TEST(CpuAllocator, WaitsForPendingMemoryBeforeItFails) {
  CpuAllocator allocator(options(1 << 20));
  ManualStream stream;
  const TimePoint use = stream.submit({});
  allocator.free(allocator.allocate(1 << 20, nullptr), std::span(&use, 1));
  const Allocation a = allocator.allocate(1 << 20, nullptr);
  EXPECT_GE(stream.host_waits, 1);
  allocator.free(a, {});
}

TEST(CpuAllocator, AnInterruptedWaitLosesNothing) {
  CpuAllocator allocator(options(1 << 20));
  ManualStream stream;
  const TimePoint use = stream.submit({});
  allocator.free(allocator.allocate(1 << 20, nullptr), std::span(&use, 1));
  stream.interrupted = true;
  EXPECT_THROW(allocator.allocate(1 << 20, nullptr), CancelledError);
  const Allocation a = allocator.allocate(1 << 20, nullptr);
  allocator.free(a, {});
  EXPECT_EQ(allocator.info().current, 0);
}

TEST(CpuAllocator, ReportsToTheRecorder) {
  CpuAllocator allocator(options());
  recorder::start();
  allocator.free(allocator.allocate(4096, nullptr), {});
  recorder::stop();
  const auto events = recorder::collect();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, recorder::Kind::kAlloc);
  EXPECT_EQ(events[1].kind, recorder::Kind::kFree);
  EXPECT_EQ(events[0].bytes, 4096);
  EXPECT_STREQ(events[0].lane, "CPU:0");
}

TEST(CpuAllocator, ManyThreads) {
  CpuAllocator allocator(options(0, 1 << 20));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<Allocation> mine;
      for (int i = 0; i < 2000; ++i) {
        if (mine.size() > 16) {
          const size_t pick = random() % mine.size();
          EXPECT_EQ(*static_cast<unsigned*>(mine[pick].address), t);
          allocator.free(mine[pick], {});
          mine[pick] = mine.back();
          mine.pop_back();
        }
        mine.push_back(allocator.allocate(4 + random() % 20000, nullptr));
        *static_cast<unsigned*>(mine.back().address) = t;
        if (i % 500 == 0) allocator.trim();
      }
      for (const Allocation& a : mine) allocator.free(a, {});
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(allocator.info().current, 0);
}

}  // namespace
}  // namespace tandem
