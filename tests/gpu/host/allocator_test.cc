// The allocator against a fake GPU memory: what is mapped where, and that free memory in
// pieces serves any request that fits.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "device/cuda/cuda_allocator.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

constexpr size_t kMiB = 1 << 20;
constexpr size_t kPage = 2 * kMiB;

/// Counts pages, and fails on maps over maps and unmaps of nothing.
struct FakeMemory final : PhysicalMemory {
  struct State {
    size_t pages_left = 64;
    std::set<Page> pages;
    std::map<std::byte*, Page> mapped;
    std::set<Page> in_place;
    Page next = 1;
    std::byte* reserved = reinterpret_cast<std::byte*>(uintptr_t{1} << 40);
  };
  explicit FakeMemory(State& s) : state(s) {}
  size_t page_bytes() override { return kPage; }
  std::byte* reserve(size_t bytes) override {
    std::byte* const at = state.reserved;
    state.reserved += bytes + kPage;
    return at;
  }
  bool create(Page* page) override {
    if (state.pages_left == 0) return false;
    --state.pages_left;
    *page = state.next++;
    state.pages.insert(*page);
    return true;
  }
  void release(Page page) override {
    EXPECT_EQ(state.pages.erase(page), 1u);
    EXPECT_EQ(state.in_place.count(page), 0u) << "released while mapped";
    ++state.pages_left;
  }
  void map(std::byte* at, Page page) override {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % kPage, 0u);
    EXPECT_TRUE(state.mapped.emplace(at, page).second) << "mapped twice";
    EXPECT_TRUE(state.in_place.insert(page).second) << "a page at two places";
  }
  void unmap(std::byte* at) override {
    const auto found = state.mapped.find(at);
    ASSERT_NE(found, state.mapped.end());
    state.in_place.erase(found->second);
    state.mapped.erase(found);
  }
  void allow_access(std::byte*, size_t) override {}
  State& state;
};

/// A stream whose points pass when the test says so.
struct FakeStream final : Stream {
  FakeStream() : Stream("fake") {}
  TimePoint submit(StreamTask) override { return {this, ++submitted}; }
  void wait(TimePoint) override {}
  TimePoint now() override { return {this, submitted}; }
  bool passed(uint64_t sequence) override { return completed >= sequence; }
  void host_wait(uint64_t sequence) override {
    ++waits;
    completed = std::max(completed, sequence);
  }
  std::exception_ptr take_error() override { return nullptr; }
  uint64_t submitted = 0, completed = 0;
  int waits = 0;
};

struct AllocatorTest : ::testing::Test {
  FakeMemory::State state;
  FakeStream compute, copy;
  std::unique_ptr<CudaAllocator> make(size_t pages, int64_t limit = 0) {
    state.pages_left = pages;
    return std::make_unique<CudaAllocator>(CudaAllocator::Options{
        .device = "/device:GPU:0",
        .allocator = "GPU_0_cuda",
        .lane = "GPU:0",
        .total = static_cast<int64_t>(pages * kPage),
        .limit = limit,
        .activate = [] {},
        .memory = [this] { return std::make_unique<FakeMemory>(state); }});
  }
  bool backed(const Allocation& a) {
    const auto begin = reinterpret_cast<uintptr_t>(a.address);
    for (uintptr_t page = begin / kPage * kPage; page < begin + a.bytes; page += kPage) {
      if (!state.mapped.count(reinterpret_cast<std::byte*>(page))) return false;
    }
    return true;
  }
};

TEST_F(AllocatorTest, TakesNothingBeforeTheFirstRequest) {
  const auto a = make(64);
  EXPECT_EQ(state.pages.size(), 0u);
  EXPECT_EQ(a->info().limit, static_cast<int64_t>(64 * kPage));
  EXPECT_EQ(a->trim(), 0u);
}

TEST_F(AllocatorTest, SmallRequestsShareAPageAndLargeOnesTakeWholePages) {
  const auto a = make(64);
  const Allocation x = a->allocate(1000, &compute), y = a->allocate(1000, &compute);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.address) / kPage,
            reinterpret_cast<uintptr_t>(y.address) / kPage);
  EXPECT_EQ(x.granted, 1024u);
  const Allocation big = a->allocate(5 * kMiB, &compute);
  EXPECT_EQ(big.granted, 6 * kMiB);
  EXPECT_TRUE(backed(x) && backed(y) && backed(big));
  EXPECT_EQ(a->info().current, static_cast<int64_t>(2 * 1024 + 6 * kMiB));
}

TEST_F(AllocatorTest, TheSameStreamHasAFreedBlockBackAtOnce) {
  const auto a = make(64);
  const Allocation x = a->allocate(8 * kMiB, &compute);
  const TimePoint use = compute.submit({});
  a->free(x, {&use, 1});
  EXPECT_EQ(a->allocate(8 * kMiB, &compute).address, x.address);
}

TEST_F(AllocatorTest, AnotherStreamDoesNotUntilTheUsesHavePassed) {
  const auto a = make(64);
  const Allocation x = a->allocate(8 * kMiB, &compute);
  const TimePoint use = compute.submit({});
  a->free(x, {&use, 1});
  const Allocation y = a->allocate(8 * kMiB, &copy);
  EXPECT_NE(y.address, x.address);
  compute.completed = 1;
  const Allocation z = a->allocate(8 * kMiB, &copy);
  EXPECT_NE(z.address, y.address);
  EXPECT_EQ(compute.waits, 0);
}

TEST_F(AllocatorTest, WaitsForPendingMemoryBeforeItFails) {
  const auto a = make(8);
  const Allocation x = a->allocate(16 * kMiB, &compute);
  const TimePoint use = compute.submit({});
  a->free(x, {&use, 1});
  const Allocation y = a->allocate(16 * kMiB, &copy);
  EXPECT_EQ(compute.waits, 1);
  EXPECT_TRUE(backed(y));
}

TEST_F(AllocatorTest, FreeMemoryInPiecesServesARequestThatFits) {
  const auto a = make(16);
  std::vector<Allocation> all;
  for (int i = 0; i < 8; ++i) all.push_back(a->allocate(4 * kMiB, &compute));
  // Every second block is free: 16 MiB in pieces of 4.
  for (size_t i = 0; i < all.size(); i += 2) a->free(all[i], {});
  const Allocation whole = a->allocate(16 * kMiB, &compute);
  EXPECT_TRUE(backed(whole));
  EXPECT_EQ(state.pages.size(), 16u);
  for (size_t i = 1; i < all.size(); i += 2) EXPECT_TRUE(backed(all[i]));
}

TEST_F(AllocatorTest, TheLimitHoldsAndTheErrorSaysSo) {
  const auto a = make(64, 16 * kMiB);
  EXPECT_EQ(a->info().limit, static_cast<int64_t>(16 * kMiB));
  const Allocation x = a->allocate(12 * kMiB, &compute);
  try {
    a->allocate(8 * kMiB, &compute);
    FAIL() << "there was no room";
  } catch (const ResourceExhaustedError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("OOM when allocating tensor with 8388608 bytes"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("limit 16.00MiB, in use 12.00MiB, largest free block 4.00MiB"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("other programs"), std::string::npos) << text;
    EXPECT_NE(text.find("memory_limit"), std::string::npos) << text;
  }
  EXPECT_THROW(a->allocate(17 * kMiB, nullptr), ResourceExhaustedError);
  a->free(x, {});
  EXPECT_TRUE(backed(a->allocate(16 * kMiB, &compute)));
}

TEST_F(AllocatorTest, WhatCouldBeHadIsFreePagesAndNewOnesTogether) {
  const auto a = make(16);  // 32 MiB
  const Allocation x = a->allocate(8 * kMiB, &compute),
                   y = a->allocate(8 * kMiB, &compute);
  a->free(x, {});
  EXPECT_ERROR(a->allocate(28 * kMiB, &compute), ResourceExhaustedError,
               "in use 8.00MiB, largest free block 24.00MiB. Drop");
  EXPECT_TRUE(backed(a->allocate(24 * kMiB, &compute)));
  a->free(y, {});
}

TEST_F(AllocatorTest, SaysThatOthersHoldTheGpusMemory) {
  const auto a = make(16);
  state.pages_left = 6;  // another program has the rest
  const Allocation x = a->allocate(8 * kMiB, &compute);
  EXPECT_ERROR(a->allocate(8 * kMiB, &compute), ResourceExhaustedError,
               "largest free block 4.00MiB, the GPU gave no more than 12.00MiB: other "
               "programs or libraries hold the rest");
  a->free(x, {});
}

TEST_F(AllocatorTest, TrimGivesFreePagesBack) {
  const auto a = make(64);
  const Allocation x = a->allocate(8 * kMiB, &compute),
                   y = a->allocate(8 * kMiB, &compute);
  const Allocation small = a->allocate(100, &compute);
  a->free(x, {});
  const size_t before = state.pages.size();
  EXPECT_GE(a->trim(), 8 * kMiB);
  EXPECT_LE(state.pages.size(), before - 4);
  EXPECT_TRUE(backed(y) && backed(small));
  EXPECT_TRUE(backed(a->allocate(8 * kMiB, &compute)));
}

TEST_F(AllocatorTest, PeakFollowsUseAndCanBeReset) {
  const auto a = make(64);
  const Allocation x = a->allocate(8 * kMiB, &compute);
  a->free(x, {});
  EXPECT_EQ(a->info().current, 0);
  EXPECT_EQ(a->info().peak, static_cast<int64_t>(8 * kMiB));
  a->reset_peak();
  EXPECT_EQ(a->info().peak, 0);
}

TEST_F(AllocatorTest, RandomRequestsNeverOverlapAndNeverFailWhileTheyFit) {
  const auto a = make(32);
  std::mt19937 random(7);
  std::map<uintptr_t, Allocation> live;
  size_t large_in_use = 0;
  for (int step = 0; step < 3000; ++step) {
    if (!live.empty() && random() % 2 == 0) {
      auto it = live.begin();
      std::advance(it, random() % live.size());
      if (it->second.granted >= kPage) large_in_use -= it->second.granted;
      const TimePoint use = compute.submit({});
      const bool done = random() % 2;
      a->free(it->second, {&use, done ? 0u : 1u});
      live.erase(it);
    } else {
      const bool large = random() % 4 == 0;
      const size_t bytes = large ? (4 + random() % 12) * kMiB : 1 + random() % 100000;
      // Room is kept for the pages that small requests share.
      if (large && large_in_use + bytes + kPage > 32 * kMiB) continue;
      const Allocation x = a->allocate(bytes, random() % 2 ? &compute : &copy);
      ASSERT_TRUE(backed(x));
      if (x.granted >= kPage) large_in_use += x.granted;
      const auto at = reinterpret_cast<uintptr_t>(x.address);
      const auto next = live.lower_bound(at);
      if (next != live.end()) {
        ASSERT_LE(at + x.granted, next->first);
      }
      if (next != live.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(before->first + before->second.granted, at);
      }
      live[at] = x;
    }
  }
}

}  // namespace
}  // namespace tandem::cuda
