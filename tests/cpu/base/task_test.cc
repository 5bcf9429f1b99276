#include "base/task.h"

#include <array>
#include <memory>

#include <gtest/gtest.h>

namespace tandem {
namespace {

using IntTask = TaskOf<int>;

TEST(Task, RunsSmallAndLargeCallables) {
  int sum = 0;
  IntTask small([&](int x) { sum += x; });
  std::array<int, 100> many{};
  many.fill(2);
  IntTask large([&sum, many](int x) { sum += x * many[99]; });
  small(1);
  large(10);
  EXPECT_EQ(sum, 21);
}

TEST(Task, MovesAndDestroysOnce) {
  const auto alive = std::make_shared<int>(0);
  {
    IntTask first([alive](int) { ++*alive; });
    EXPECT_EQ(alive.use_count(), 2);
    IntTask second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT: moved-from is empty
    EXPECT_TRUE(second);
    IntTask third;
    third = std::move(second);
    third(0);
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(*alive, 1);
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace tandem
