// The memory planner: offsets worked out by hand, and random problems in which buffers
// that are alive together never share a byte.
#include "plan/memory.h"

#include <random>

#include <gtest/gtest.h>

namespace tandem {
namespace {

// Steps of one lane in order.
MemoryProblem line(int steps) {
  MemoryProblem p;
  for (int i = 0; i < steps; ++i) {
    p.lane_of_step.push_back(0);
    p.position.push_back(i + 1);
    p.clock.push_back({i});
  }
  return p;
}

MemoryBuffer buffer(int64_t bytes, int defined, std::vector<int32_t> uses,
                    std::vector<int32_t> may_replace = {}) {
  MemoryBuffer b;
  b.bytes = bytes;
  b.defined = defined;
  b.uses = std::move(uses);
  b.may_replace = std::move(may_replace);
  return b;
}

TEST(MemoryPlan, DisjointLifetimesShare) {
  MemoryProblem p = line(4);
  p.buffers = {buffer(100, 0, {1}), buffer(100, 1, {2}), buffer(64, 2, {3})};
  const MemoryPlan plan = plan_memory(p);
  // 0 and 2 share; 1 overlaps both. 100 bytes take 128.
  EXPECT_EQ(plan.offsets, std::vector<int64_t>({0, 128, 0}));
  EXPECT_EQ(plan.bytes, 256);
  EXPECT_EQ(plan.over_limit, 0);
  EXPECT_TRUE(plan.inserted.empty());
}

TEST(MemoryPlan, TheLastReaderMayWriteInPlace) {
  MemoryProblem p = line(3);
  p.buffers = {buffer(256, 0, {1}), buffer(256, 1, {2}, {0})};
  EXPECT_EQ(plan_memory(p).bytes, 256);
  // Not when somebody reads it later.
  p.buffers[0].uses = {1, 2};
  EXPECT_EQ(plan_memory(p).bytes, 512);
  // Not when the sizes differ.
  p.buffers[0].uses = {1};
  p.buffers[1].bytes = 128;
  EXPECT_EQ(plan_memory(p).bytes, 384);
}

TEST(MemoryPlan, AChainOfReplacementsIsOneBuffer) {
  MemoryProblem p = line(5);
  p.buffers = {buffer(64, 0, {1}), buffer(64, 1, {2}, {0}), buffer(64, 2, {3}, {1}),
               buffer(64, 3, {4}, {2})};
  const MemoryPlan plan = plan_memory(p);
  EXPECT_EQ(plan.bytes, 64);
  EXPECT_EQ(plan.offsets, std::vector<int64_t>({0, 0, 0, 0}));
}

TEST(MemoryPlan, OneBufferIsTakenOverOnce) {
  MemoryProblem p = line(3);
  p.buffers = {buffer(64, 0, {1, 1}), buffer(64, 1, {2}, {0}), buffer(64, 1, {2}, {0})};
  EXPECT_EQ(plan_memory(p).bytes, 128);
}

TEST(MemoryPlan, LanesThatDoNotWaitDoNotShare) {
  // Steps 0 and 1 on lane 0, 2 and 3 on lane 1; nobody waits for the other lane.
  MemoryProblem p;
  p.lane_of_step = {0, 0, 1, 1};
  p.position = {1, 2, 1, 2};
  p.clock = {{0, 0}, {1, 0}, {0, 0}, {0, 1}};
  p.buffers = {buffer(64, 0, {1}), buffer(64, 2, {3})};
  EXPECT_EQ(plan_memory(p).bytes, 128);
  // Lane 1 waits for step 1: the memory of the first is free by then.
  p.clock = {{0, 0}, {1, 0}, {2, 0}, {2, 1}};
  EXPECT_EQ(plan_memory(p).bytes, 64);
}

TEST(MemoryPlan, SaysByHowMuchALimitIsExceeded) {
  MemoryProblem p = line(2);
  p.buffers = {buffer(1024, 0, {1}), buffer(1024, 1, {})};
  p.limit = 1500;
  EXPECT_EQ(plan_memory(p).over_limit, 2048 - 1500);
}

TEST(MemoryPlan, WithoutSharingEverythingHasItsPlace) {
  MemoryProblem p = line(4);
  p.share = false;
  p.buffers = {buffer(64, 0, {1}), buffer(64, 1, {2}, {0}), buffer(64, 2, {3})};
  EXPECT_EQ(plan_memory(p).bytes, 192);
}

TEST(MemoryPlan, StripsLieEndToEndInTheirOrder) {
  MemoryProblem p = line(5);
  p.buffers = {buffer(64, 0, {4}), buffer(128, 1, {4}), buffer(50, 2, {4})};
  EXPECT_EQ(plan_memory(p).offsets, std::vector<int64_t>({128, 0, 192}));
  p.strips = {{1, 0, 2}};
  EXPECT_EQ(plan_memory(p).offsets, std::vector<int64_t>({128, 0, 192}));
  p.strips = {{0, 1, 2}};
  const MemoryPlan plan = plan_memory(p);
  EXPECT_EQ(plan.offsets, std::vector<int64_t>({0, 64, 192}));
  EXPECT_EQ(plan.bytes, 256);
  EXPECT_EQ(plan.strip_bytes, 256);
}

TEST(MemoryPlan, WhatDiedBeforeAPartOfAStripLiesInItsPlace) {
  MemoryProblem p = line(4);
  // 0 is read by the step that makes 1, and dead when 2 is made.
  p.buffers = {buffer(128, 0, {1}), buffer(64, 1, {3}), buffer(128, 2, {3})};
  p.strips = {{1, 2}};
  const MemoryPlan plan = plan_memory(p);
  EXPECT_EQ(plan.offsets, std::vector<int64_t>({64, 0, 64}));
  EXPECT_EQ(plan.bytes, 192);
}

TEST(MemoryPlan, AStripOfReplacementsIsTheStripOfWhatTheyReplace) {
  MemoryProblem p = line(4);
  p.buffers = {buffer(64, 0, {2}), buffer(64, 1, {2}), buffer(64, 2, {3}, {0}),
               buffer(64, 2, {3}, {1})};
  p.strips = {{1, 0}, {3, 2}};
  const MemoryPlan plan = plan_memory(p);
  EXPECT_EQ(plan.offsets, std::vector<int64_t>({64, 0, 64, 0}));
  EXPECT_EQ(plan.bytes, 128);
  EXPECT_EQ(plan.strip_bytes, 128);
}

TEST(MemoryPlan, ABufferIsInOneStrip) {
  MemoryProblem p = line(5);
  for (int i = 0; i < 4; ++i) p.buffers.push_back(buffer(64, i, {4}));
  p.strips = {{0, 1}, {1, 2, 3}};
  MemoryPlan plan = plan_memory(p);
  EXPECT_EQ(plan.offsets, std::vector<int64_t>({0, 64, 128, 192}));
  EXPECT_EQ(plan.strip_bytes, 256);  // 1 is taken, 2 and 3 still follow each other
  p.strips = {{0, 1, 2}, {2, 3}};
  EXPECT_EQ(plan_memory(p).strip_bytes, 192);
  p.strips = {{2, 2}};
  EXPECT_EQ(plan_memory(p).strip_bytes, 0);
}

TEST(MemoryPlan, StripsThatCostMemoryAreGivenUp) {
  MemoryProblem p = line(6);
  // Never alive together: end to end they would take twice the memory.
  p.buffers = {buffer(64, 0, {1}), buffer(64, 2, {5})};
  p.strips = {{0, 1}};
  EXPECT_EQ(plan_memory(p).bytes, 64);
  EXPECT_EQ(plan_memory(p).strip_bytes, 0);
  // Beside something large that is little, unless it is what a limit forbids.
  p.buffers.push_back(buffer(2048, 0, {5}));
  EXPECT_EQ(plan_memory(p).bytes, 2048 + 128);
  EXPECT_EQ(plan_memory(p).strip_bytes, 128);
  p.limit = 2048 + 64;
  EXPECT_EQ(plan_memory(p).bytes, 2048 + 64);
  EXPECT_EQ(plan_memory(p).over_limit, 0);
}

TEST(MemoryPlan, LiveBuffersNeverOverlap) {
  const MemoryBuffer large = buffer(1 << 20, 0, {});
  int64_t strip_bytes = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const int lanes = 1 + static_cast<int>(random() % 3);
    const int steps = 40;
    MemoryProblem p;
    std::vector<std::vector<int32_t>> lane_clock(
        static_cast<size_t>(lanes), std::vector<int32_t>(static_cast<size_t>(lanes), 0));
    std::vector<int32_t> length(static_cast<size_t>(lanes), 0);
    std::vector<std::vector<int32_t>> end;
    for (int i = 0; i < steps; ++i) {
      const auto l = static_cast<size_t>(random() % static_cast<uint64_t>(lanes));
      std::vector<int32_t> clock = lane_clock[l];
      if (i > 0 && random() % 3 == 0) {  // waits for some earlier step
        const auto& other = end[random() % static_cast<uint64_t>(i)];
        for (size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], other[k]);
      }
      p.lane_of_step.push_back(static_cast<int32_t>(l));
      p.clock.push_back(clock);
      p.position.push_back(++length[l]);
      clock[l] = length[l];
      end.push_back(clock);
      lane_clock[l] = clock;
    }
    for (int i = 0; i < 60; ++i) {
      MemoryBuffer b;
      b.bytes = static_cast<int64_t>(random() % 4 * 64 + random() % 50);
      b.defined = static_cast<int32_t>(random() % steps);
      for (int u = 0; u < 3; ++u) {
        // Readers come after the writer in the order of issue and wait for it.
        const auto use = static_cast<int32_t>(random() % steps);
        const auto lane =
            static_cast<size_t>(p.lane_of_step[static_cast<size_t>(b.defined)]);
        if (use > b.defined && p.clock[static_cast<size_t>(use)][lane] >=
                                   p.position[static_cast<size_t>(b.defined)]) {
          b.uses.push_back(use);
        }
      }
      p.buffers.push_back(std::move(b));
    }
    if (seed % 2 == 0) {
      for (int strip = 0; strip < 4; ++strip) {
        auto& list = p.strips.emplace_back();
        for (int k = 0; k < 5; ++k) list.push_back(static_cast<int32_t>(random() % 60));
      }
      p.buffers.push_back(large);  // so that they are not given up
    }
    const MemoryPlan plan = plan_memory(p);
    strip_bytes += plan.strip_bytes;
    for (int32_t a = 0; a < static_cast<int32_t>(p.buffers.size()); ++a) {
      for (int32_t b = 0; b < a; ++b) {
        const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
        const bool overlap = plan.offsets[i] < plan.offsets[j] + p.buffers[j].bytes &&
                             plan.offsets[j] < plan.offsets[i] + p.buffers[i].bytes;
        ASSERT_FALSE(overlap && lifetimes_overlap(p, a, b))
            << "seed " << seed << ", buffers " << a << " and " << b;
      }
      ASSERT_LE(
          plan.offsets[static_cast<size_t>(a)] + p.buffers[static_cast<size_t>(a)].bytes,
          plan.bytes);
    }
  }
  EXPECT_GT(strip_bytes, 0);
}

}  // namespace
}  // namespace tandem
