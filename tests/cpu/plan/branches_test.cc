// Which steps go to side lanes: graphs by hand with given times, and random ones whose
// order must hold.
#include "plan/branches.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace tandem {
namespace {

BranchStep step(double us, std::vector<int32_t> before = {}, bool movable = true) {
  BranchStep s;
  s.before = std::move(before);
  s.work_us = us;
  s.movable = movable;
  return s;
}

// Operators that gain nothing from more threads.
Branches serial(const std::vector<BranchStep>& steps, BranchOptions options) {
  return find_branches(steps, options, [&](int32_t i, int) {
    return steps[static_cast<size_t>(i)].work_us;
  });
}

TEST(Branches, TwoHeavyOnesGetALaneEach) {
  // 0 → {1 → 2 → 3, 4 → 5} → 6, where 2 is light.
  const std::vector<BranchStep> steps = {step(50),        step(300, {0}), step(1, {1}),
                                         step(300, {2}),  step(200, {0}), step(200, {4}),
                                         step(50, {3, 5})};
  const Branches b = serial(steps, {.max_lanes = 4, .threads = 8});
  EXPECT_EQ(b.lanes, 2);
  EXPECT_EQ(b.threads, 4);
  EXPECT_EQ(b.regions, 1);
  EXPECT_EQ(b.lane, std::vector<int32_t>({0, 1, 1, 1, 2, 2, 0}));
  EXPECT_EQ(b.alone_us, 1000);
  EXPECT_GT(b.beside_us, 600);
  EXPECT_LT(b.beside_us, 700);
}

TEST(Branches, AChainStays) {
  std::vector<BranchStep> steps = {step(500)};
  for (int32_t i = 1; i < 10; ++i) steps.push_back(step(500, {i - 1}));
  const Branches b = serial(steps, {.max_lanes = 4, .threads = 8});
  EXPECT_EQ(b.lanes, 0);
  EXPECT_EQ(b.lane, std::vector<int32_t>(10, 0));
}

TEST(Branches, WhatFillsTheTeamStays) {
  const std::vector<BranchStep> steps = {step(800), step(800)};
  const auto perfect = [](int32_t, int threads) { return 800.0 / threads; };
  EXPECT_EQ(find_branches(steps, {.max_lanes = 4, .threads = 8}, perfect).lanes, 0);
  const auto hardly = [](int32_t, int threads) { return 700 + 100.0 / threads; };
  EXPECT_EQ(find_branches(steps, {.max_lanes = 4, .threads = 8}, hardly).lanes, 2);
  // Unless it is asked for.
  EXPECT_EQ(
      find_branches(steps, {.max_lanes = 4, .threads = 8, .always = true}, perfect).lanes,
      2);
}

TEST(Branches, SmallOnesStayAndOneLaneSwitchesOff) {
  EXPECT_EQ(serial({step(60), step(60)}, {.max_lanes = 4, .threads = 8}).lanes, 0);
  EXPECT_EQ(serial({step(900), step(900)}, {.max_lanes = 1, .threads = 8}).lanes, 0);
  // A short branch beside a long one gains nothing.
  EXPECT_EQ(serial({step(900), step(110)}, {.max_lanes = 4, .threads = 8}).lanes, 0);
}

TEST(Branches, ManyMediumOnesAreSpreadEvenly) {
  const std::vector<BranchStep> steps(12, step(50));
  const Branches b = serial(steps, {.max_lanes = 4, .threads = 4});
  ASSERT_EQ(b.lanes, 4);
  EXPECT_EQ(b.threads, 1);
  for (int32_t lane = 1; lane <= 4; ++lane) {
    EXPECT_EQ(std::count(b.lane.begin(), b.lane.end(), lane), 3);
  }
}

TEST(Branches, WorkThatMustStayKeepsItsRegion) {
  const std::vector<BranchStep> steps = {step(400), step(400), step(400, {}, false)};
  EXPECT_EQ(serial(steps, {.max_lanes = 4, .threads = 8}).lanes, 0);
  // Before and after the others it does not matter.
  const std::vector<BranchStep> between = {step(400, {}, false), step(400, {0}),
                                           step(400, {0}), step(400, {1, 2}, false)};
  EXPECT_EQ(serial(between, {.max_lanes = 4, .threads = 8}).lane,
            std::vector<int32_t>({0, 1, 2, 0}));
}

TEST(Branches, ALightStepOfTwoBranchesIsTheMainLanes) {
  const std::vector<BranchStep> steps = {step(400), step(400), step(1, {0, 1}),
                                         step(1, {0}), step(1, {3, 2})};
  EXPECT_EQ(serial(steps, {.max_lanes = 2, .threads = 2}).lane,
            std::vector<int32_t>({1, 2, 0, 1, 0}));
}

TEST(Branches, ForksAndJoinsInsideARegion) {
  // 0 → {1, 2}, 1 → 3, {1, 2} → 4, and 5 by itself: nothing cuts it.
  const std::vector<BranchStep> steps = {step(300),         step(300, {0}),
                                         step(300, {0}),    step(300, {1}),
                                         step(300, {1, 2}), step(900)};
  const Branches b = serial(steps, {.max_lanes = 2, .threads = 2});
  ASSERT_EQ(b.lanes, 2);
  EXPECT_LT(b.beside_us, 1400);
  EXPECT_EQ(std::count(b.lane.begin(), b.lane.end(), 0), 0);
}

TEST(Branches, OneSplitServesAllRegions) {
  // Two branches, then four, then two that are too short.
  std::vector<BranchStep> steps = {step(400), step(400), step(30, {0, 1})};
  for (int i = 0; i < 4; ++i) steps.push_back(step(400, {2}));
  steps.push_back(step(30, {3, 4, 5, 6}));
  steps.push_back(step(40, {7}));
  steps.push_back(step(40, {7}));
  const Branches b = serial(steps, {.max_lanes = 4, .threads = 4});
  EXPECT_EQ(b.lanes, 4);
  EXPECT_EQ(b.regions, 2);
  EXPECT_EQ(b.lane[8], 0);
  EXPECT_EQ(b.lane[9], 0);
}

TEST(GroupByLane, FeedsLanesFirstAndKeepsThemTogether) {
  const std::vector<BranchStep> steps = {step(1),      step(1, {0}),      step(1, {0}),
                                         step(1, {1}), step(1, {2}),      step(1),
                                         step(1),      step(1, {3, 4, 5})};
  EXPECT_EQ(group_by_lane(steps, {0, 1, 2, 1, 2, 0, -1, 0}),
            std::vector<int32_t>({6, 0, 1, 3, 2, 4, 5, 7}));
}

TEST(Branches, RandomGraphsStayInOrder) {
  int with_lanes = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const size_t n = 3 + random() % 40;
    std::vector<BranchStep> steps;
    for (size_t i = 0; i < n; ++i) {
      BranchStep s = step(static_cast<double>(random() % 4 * 150), {}, random() % 12 > 0);
      for (size_t k = 0; k < 2 && i > 0; ++k) {
        if (random() % 3 == 0) continue;
        const auto from = random() % std::min<size_t>(i, 6) + i - std::min<size_t>(i, 6);
        s.before.push_back(static_cast<int32_t>(from));
      }
      steps.push_back(std::move(s));
    }
    const Branches b =
        serial(steps, {.max_lanes = 3, .threads = 6, .always = seed % 2 == 0});
    with_lanes += b.lanes > 0;
    for (size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(steps[i].movable || b.lane[i] == 0) << "seed " << seed;
      ASSERT_LE(b.lane[i], b.lanes);
    }
    const std::vector<int32_t> order = group_by_lane(steps, b.lane);
    std::vector<size_t> at(n, n);
    ASSERT_EQ(order.size(), n);
    for (size_t k = 0; k < n; ++k) at[static_cast<size_t>(order[k])] = k;
    for (size_t i = 0; i < n; ++i) {
      ASSERT_LT(at[i], n) << "a step is missing, seed " << seed;
      for (int32_t before : steps[i].before) {
        ASSERT_LT(at[static_cast<size_t>(before)], at[i]) << "seed " << seed;
      }
    }
    // No schedule is shorter than the longest way through it, or than its work.
    if (b.lanes && b.regions == 1) {
      double work = 0;
      for (size_t i = 0; i < n; ++i) work += b.lane[i] ? steps[i].work_us : 0;
      EXPECT_GE(b.beside_us * b.lanes, work) << "seed " << seed;
    }
  }
  EXPECT_GT(with_lanes, 20);
}

}  // namespace
}  // namespace tandem
