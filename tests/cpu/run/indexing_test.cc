// Indexing and sorting through the public functions: messages for bad indices, functions
// made of several ops, and inputs large enough for the parallel forms of the kernels.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "support/alone.h"
#include "support/floats.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using testing::Floats;
using testing::floats;
using Int32s = std::vector<int32_t>;
using Int64s = std::vector<int64_t>;

Floats random_floats(size_t n, int values) {
  std::mt19937 random(7);
  Floats x(n);
  for (float& v : x) {
    v = static_cast<float>(static_cast<int>(random() % static_cast<unsigned>(values))) -
        static_cast<float>(values / 2);
  }
  return x;
}

TEST(Indexing, BadIndicesAreNamed) {
  const Tensor x = constant({1.f, 2.f, 3.f, 4.f, 5.f});
  const Tensor table = zeros({2, 3});
  EXPECT_ERROR(gather(x, constant({0, 1, 7})), InvalidArgumentError,
               "indices[2] = 7 is not in [0, 5)");
  EXPECT_ERROR(gather(x, constant({{0, 1}, {-1, 9}})), InvalidArgumentError,
               "indices[1,0] = -1 is not in [0, 5)");
  EXPECT_ERROR(gather(x, constant(int64_t{1} << 40)), InvalidArgumentError,
               "indices = 1099511627776 is not in [0, 5)");
  EXPECT_ERROR(gather(table, constant({{0, 1}, {1, 5}}), {.batch_dims = 1}),
               InvalidArgumentError, "indices[1,1] = 5 is not in [0, 3)");
  EXPECT_ERROR(gather(zeros({0, 3}), constant({0})), InvalidArgumentError,
               "indices[0] = 0 is not in [0, 0)");
  EXPECT_ERROR(gather_nd(table, constant({{0, 1}, {1, 5}})), InvalidArgumentError,
               "indices[1] = [1, 5] does not index into param shape [2,3]");
  EXPECT_ERROR(scatter_nd(constant({{0}, {-1}}), constant({1.f, 2.f}), Shape{5}),
               InvalidArgumentError, "indices[1] = [-1] does not index into shape [5]");
  EXPECT_ERROR(tensor_scatter_nd_update(x, constant({{7}}), constant({1.f})),
               InvalidArgumentError, "indices[0] = [7] does not index into shape [5]");
  EXPECT_ERROR(take_along_axis(x, constant({0, -6})), InvalidArgumentError,
               "-6, which is not in [-5, 5)");
  EXPECT_ERROR(dynamic_partition(x, constant({0, 1, 3, 0, 0}), {2}), InvalidArgumentError,
               "partitions[2] = 3 is not in [0, 2)");
  EXPECT_ERROR(dynamic_stitch({constant({-1})}, {constant({1.f})}), InvalidArgumentError,
               "indices[0] is out of range");
}

TEST(Indexing, ShapesThatDoNotFitAreNamed) {
  const Tensor table = zeros({2, 3});
  EXPECT_ERROR(gather(constant(1.f), constant({0})), InvalidArgumentError,
               "params must be at least 1 dimensional");
  EXPECT_ERROR(gather(table, constant({{0, 1}}), {.axis = 1, .batch_dims = 1}),
               InvalidArgumentError,
               "params.shape[0]: 2 should be equal to indices.shape[0]: 1");
  EXPECT_ERROR(gather_nd(table, constant({{0, 1, 2}})), InvalidArgumentError,
               "index innermost dimension length must be <= params rank; saw: 3 vs. 2");
  EXPECT_ERROR(scatter_nd(constant({{0}, {1}}), constant({1.f, 2.f, 3.f}), Shape{5}),
               InvalidArgumentError,
               "Dimensions [0,1) of indices[shape=[2,1]] must match");
  EXPECT_ERROR(scatter_nd(constant({{0}, {1}}), constant({1.f, 2.f}), Shape{0}),
               InvalidArgumentError, "Indices and updates specified for empty output");
  EXPECT_ERROR(one_hot(constant({0}), -1), InvalidArgumentError,
               "depth must be non-negative, got: -1");
  EXPECT_ERROR(unique(table), InvalidArgumentError, "unique expects a 1D vector");
  EXPECT_ERROR(boolean_mask(table, constant(true)), ValueError, "mask cannot be scalar");
  EXPECT_ERROR(boolean_mask(table, constant(std::vector<bool>{true})), ValueError,
               "are incompatible");
  EXPECT_ERROR(top_k(constant({1.f, 3.f}), 3), InvalidArgumentError,
               "input must have at least k columns. Had 2, needed 3");
  EXPECT_ERROR(nth_element(constant({1.f}), 1), InvalidArgumentError,
               "Input must have last dimension > n = 1");
  EXPECT_ERROR(searchsorted(zeros({2, 3}), zeros({3, 1})), InvalidArgumentError,
               "Leading dim_size of both tensors must match");
}

TEST(Indexing, BooleanMask) {
  const Tensor x = constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  const Tensor rows = constant(std::vector<bool>{false, true});
  const Tensor columns = constant(std::vector<bool>{true, false, true});
  EXPECT_EQ(floats(boolean_mask(x, rows)), (Floats{4, 5, 6}));
  const Tensor cut = boolean_mask(x, columns, {.axis = 1});
  EXPECT_EQ(cut.shape(), (Shape{2, 2}));
  EXPECT_EQ(floats(cut), (Floats{1, 3, 4, 6}));
  const Tensor both =
      constant(std::vector<bool>{true, false, false, false, true, true}, Shape{2, 3});
  EXPECT_EQ(floats(boolean_mask(x, both)), (Floats{1, 5, 6}));
}

TEST(Indexing, UniqueTellsZerosAndNanApartAsEqualityDoes) {
  const UniqueResult r = unique_with_counts(constant({NAN, NAN, 0.f, -0.f, 1.f}),
                                            UniqueAttrs{DType::kInt64});
  EXPECT_EQ(r.idx.to_vector<int64_t>(), (Int64s{0, 1, 2, 2, 3}));
  EXPECT_EQ(r.count.to_vector<int64_t>(), (Int64s{1, 1, 2, 1}));
  const UniqueResult columns = unique(constant({{1, 2, 1}, {3, 4, 3}}), AxisAttrs{1});
  EXPECT_EQ(columns.y.to_vector<int32_t>(), (Int32s{1, 2, 3, 4}));
  EXPECT_EQ(columns.idx.to_vector<int32_t>(), (Int32s{0, 1, 0}));
}

TEST(Indexing, LaterSlicesWinAStitch) {
  const Tensor merged = dynamic_stitch({constant({0, 2}), constant({2, 5})},
                                       {constant({1.f, 2.f}), constant({3.f, 4.f})});
  EXPECT_EQ(floats(merged), (Floats{1, 0, 3, 0, 0, 4}));
}

TEST(Indexing, EmbeddingRowsAreScaledDownToTheNorm) {
  const Tensor table = constant({{0.f, 1.f}, {2.f, 3.f}, {4.f, 5.f}});
  const Floats rows =
      floats(nn::embedding_lookup(table, constant({{0, 2}}), {.max_norm = 2}));
  EXPECT_FLOAT_EQ(rows[1], 1.f);
  EXPECT_NEAR(rows[2], 1.2493901f, 1e-6);
  EXPECT_NEAR(rows[3], 1.5617375f, 1e-6);
}

TEST(Indexing, GatherGradientIsSlicesOnlyAlongTheFirstAxis) {
  const Tensor x = constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor rows = gather(x, constant({1, 1}));
  const Tensor columns = gather(x, constant({2, 0, 2}), {.axis = 1});
  const auto by_row = tape.gradient(rows, std::vector<Tensor>{x});
  EXPECT_TRUE(by_row[0].is_slices());
  EXPECT_EQ(floats(by_row[0].dense()), (Floats{0, 0, 0, 2, 2, 2}));
  const auto by_column = tape.gradient(columns, std::vector<Tensor>{x});
  EXPECT_FALSE(by_column[0].is_slices());
  EXPECT_EQ(floats(by_column[0].dense()), (Floats{1, 0, 2, 1, 0, 2}));
}

TEST(Indexing, LargeWhere) {
  constexpr int64_t kRows = 400, kColumns = 250;
  const Floats x = random_floats(kRows * kColumns, 3);
  const Int64s found = where(constant(x, {kRows, kColumns})).to_vector<int64_t>();
  size_t at = 0;
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    if (x[static_cast<size_t>(i)] == 0) continue;
    ASSERT_LT(at + 1, found.size());
    ASSERT_EQ(found[at++], i / kColumns);
    ASSERT_EQ(found[at++], i % kColumns);
  }
  EXPECT_EQ(at, found.size());
}

TEST(Sort, LongRowsAreSortedStably) {
  constexpr size_t kSize = 200000;
  Floats x = random_floats(kSize, 5000);
  x[17] = NAN;
  x[kSize - 3] = -INFINITY;
  const auto below = [&](int32_t a, int32_t b) {
    const float p = x[static_cast<size_t>(a)], q = x[static_cast<size_t>(b)];
    return !std::isnan(p) && (std::isnan(q) || p < q);
  };
  Int32s order(kSize);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), below);
  EXPECT_EQ(argsort(constant(x)).to_vector<int32_t>(), order);
  const Floats sorted = floats(sort(constant(x)));
  for (size_t i = 0; i + 1 < kSize; ++i) {
    ASSERT_EQ(sorted[i], x[static_cast<size_t>(order[i])]);
  }
  EXPECT_TRUE(std::isnan(sorted.back()));

  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return below(b, a); });
  EXPECT_EQ(
      argsort(constant(x), {.direction = Direction::kDescending}).to_vector<int32_t>(),
      order);
  order.resize(100);
  EXPECT_EQ(top_k(constant(x), 100).indices.to_vector<int32_t>(), order);
}

TEST(Sort, LongRowsOfWideIntegers) {
  std::mt19937_64 random(11);
  Int64s x(100000);
  for (int64_t& v : x) v = static_cast<int64_t>(random());
  Int64s sorted = x;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sort(constant(x)).to_vector<int64_t>(), sorted);
  std::reverse(sorted.begin(), sorted.end());
  sorted.resize(700);
  EXPECT_EQ(top_k(constant(x), 700).values.to_vector<int64_t>(), sorted);
}

TEST(Sort, SearchOverLeadingDimensions) {
  const Tensor rows = constant({{{1.f, 3.f, 5.f}}, {{2.f, 2.f, 9.f}}});
  const Tensor wanted = constant({{{3.f, 0.f}}, {{2.f, 10.f}}});
  const Tensor left = searchsorted(rows, wanted);
  EXPECT_EQ(left.shape(), (Shape{2, 1, 2}));
  EXPECT_EQ(left.to_vector<int32_t>(), (Int32s{1, 0, 0, 3}));
  const Tensor right =
      searchsorted(rows, wanted, {.side = SearchSide::kRight, .out_type = DType::kInt64});
  EXPECT_EQ(right.to_vector<int64_t>(), (Int64s{2, 0, 2, 3}));
}

}  // namespace
}  // namespace tandem
