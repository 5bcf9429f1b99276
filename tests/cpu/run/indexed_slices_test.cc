// Gradients of gather and embedding lookup are slices, and stay slices as long as they
// can.
#include <gtest/gtest.h>

#include "support/numeric.h"

namespace tandem {
namespace {

using testing::expect_close;

TEST(IndexedSlices, GatherOfAVariableGivesTheRowsItRead) {
  const Variable table(constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}));
  GradientTape tape;
  const Tensor rows = gather(table, constant({2, 0, 2}));
  const auto [d] = tape.gradient(rows * rows, {table});
  ASSERT_TRUE(d.is_slices());
  EXPECT_EQ(d.slices().indices.num_elements(), 3);
  expect_close(d.slices().values, {10, 12, 2, 4, 10, 12});
  // Equal indices add up.
  expect_close(d.dense(), {2, 4, 0, 0, 20, 24});
}

TEST(IndexedSlices, TheVariablesOwnGatherToo) {
  const Variable table(constant({{1.0, 2.0}, {3.0, 4.0}}));
  GradientTape tape;
  const Tensor rows = table.gather(constant({{1, 1}}));
  EXPECT_EQ(rows.shape(), (Shape{1, 2, 2}));
  const auto [d] = tape.gradient(rows, {table});
  ASSERT_TRUE(d.is_slices());
  EXPECT_EQ(d.slices().values.shape(), (Shape{2, 2}));
  expect_close(d.dense(), {0, 0, 2, 2});
}

TEST(IndexedSlices, TwoLookupsAreJoined) {
  const Variable table(constant({{1.0}, {2.0}, {3.0}}));
  GradientTape tape;
  const Tensor a = table.gather(constant({0, 1})), b = table.gather(constant({1}));
  const std::vector<Tensor> targets{a * 2, b * 3};
  const std::vector<Source> sources{table};
  const Gradient d = tape.gradient(targets, sources)[0];
  ASSERT_TRUE(d.is_slices());
  EXPECT_EQ(d.slices().indices.num_elements(), 3);
  expect_close(d.dense(), {2, 5, 0});
}

TEST(IndexedSlices, SlicesAndADenseGradientMakeADenseOne) {
  const Variable table(constant({{1.0}, {2.0}}));
  GradientTape tape;
  const std::vector<Tensor> targets{table.gather(constant({1})), table.read() * 10};
  const std::vector<Source> sources{table};
  const Gradient d = tape.gradient(targets, sources)[0];
  EXPECT_FALSE(d.is_slices());
  expect_close(d, {10, 11});
}

TEST(IndexedSlices, EmbeddingLookup) {
  const Variable table(constant({{1.0, 2.0}, {3.0, 4.0}}));
  GradientTape tape;
  const Tensor e = nn::embedding_lookup(table, constant({1, 1, 0}));
  const auto [d] = tape.gradient(e, {table});
  ASSERT_TRUE(d.is_slices());
  expect_close(d.dense(), {1, 1, 2, 2});
}

TEST(IndexedSlices, OtherAxesAreDense) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x, constant({1}), {.axis = 1});
  expect_close(tape.gradient(y, {x})[0], {0, 1, 0, 1});
}

TEST(IndexedSlices, ThroughOtherOpsTheyBecomeDense) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x * x, constant({1}));
  expect_close(tape.gradient(y, {x})[0], {0, 0, 6, 8});
}

TEST(IndexedSlices, SecondDerivativesGoThroughThem) {
  const Tensor x = constant({{1.0}, {2.0}});
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(x);
    const Tensor row = gather(x, constant({1}));
    first = inner.gradient(row * row * row, {x})[0];
  }
  expect_close(first, {0, 12});
  expect_close(outer.gradient(first, {x})[0], {0, 12});
}

}  // namespace
}  // namespace tandem
