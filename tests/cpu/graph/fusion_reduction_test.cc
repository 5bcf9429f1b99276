// Reductions inside fused programs: rows that are used again, columns and whole tensors
// at the end.
#include "fusion_testing.h"
#include "graph/verify.h"

namespace tandem {
namespace {

using namespace testing;

constexpr double kReordered = 1e-6;  // the reference may add in another order

TEST(FuseReductions, SoftmaxWrittenByHandIsOneProgram) {
  const Graph g = fused_and_checked(
      {numbers({32, 10}, 1)},
      [](auto& x) {
        const ReduceAttrs rows{.axis = {-1}, .keepdims = true};
        const Tensor e = exp(x[0] - reduce_max(x[0], rows));
        return Tensors{e / reduce_sum(e, rows)};
      },
      kReordered);
  EXPECT_EQ(instructions(only(g, "Fused")), "row:Max Sub Exp row:Sum RealDiv");
  EXPECT_EQ(count_kernels(g), 1);
}

TEST(FuseReductions, ABatchOfOneIsOneRow) {
  const Graph g = fused_and_checked(
      {numbers({1, 50}, 1)},
      [](auto& x) {
        const ReduceAttrs rows{.axis = {-1}, .keepdims = true};
        const Tensor e = exp(x[0] - reduce_max(x[0], rows));
        return Tensors{e / reduce_sum(e, rows)};
      },
      kReordered);
  EXPECT_EQ(instructions(only(g, "Fused")), "row:Max Sub Exp row:Sum RealDiv");
}

Tensor normalized(const Tensor& x, const Tensor& scale, const Tensor& offset, int axes) {
  ReduceAttrs rows{.keepdims = true};
  for (int i = 1; i <= axes; ++i) rows.axis.push_back(-i);
  const Tensor centred = x - reduce_mean(x, rows);
  const Tensor variance = reduce_mean(square(centred), rows);
  return centred * rsqrt(variance + 1e-3) * scale + offset;
}

TEST(FuseReductions, LayerNormWrittenByHandIsOneProgram) {
  const Graph g = fused_and_checked(
      {numbers({4, 8, 16}, 1), numbers({16}, 2), numbers({16}, 3)},
      [](auto& x) { return Tensors{normalized(x[0], x[1], x[2], 1)}; }, kReordered);
  EXPECT_EQ(instructions(only(g, "Fused")),
            "row:Mean Sub Square row:Mean AddV2 Rsqrt Mul Mul AddV2");
  EXPECT_EQ(count_kernels(g), 1);
}

TEST(FuseReductions, RowsMayHaveSeveralAxes) {
  const Graph g = fused_and_checked(
      {numbers({20, 4, 6}, 1), numbers({4, 6}, 2), numbers({6}, 3)},
      [](auto& x) { return Tensors{normalized(x[0], x[1], x[2], 2)}; }, kReordered);
  EXPECT_EQ(count_kernels(g), 1);
}

// Reduced without keeping dimensions, then laid along the rows again by a reshape.
TEST(FuseReductions, RowsWithoutKeptDimensions) {
  const Graph g = fused_and_checked(
      {numbers({32, 10}, 1)},
      [](auto& x) {
        const Tensor norm = sqrt(reduce_sum(square(x[0]), {.axis = {1}}) + 1e-6);
        return Tensors{x[0] / expand_dims(norm, 1), norm};
      },
      kReordered);
  EXPECT_EQ(instructions(only(g, "Fused")), "Square row:Sum AddV2 Sqrt RealDiv");
  EXPECT_EQ(count_kernels(g), 1);
}

// A square matrix: sums of rows meet columns when the dimension is not kept.
TEST(FuseReductions, RowsThatMeetTheLastAxisStayApart) {
  const Graph g = fused_and_checked(
      {numbers({10, 10}, 1)},
      [](auto& x) { return Tensors{x[0] * x[0] - reduce_sum(x[0], {.axis = {1}})}; },
      kReordered);
  EXPECT_EQ(count_ops(g, "Sum"), 1);
}

TEST(FuseReductions, TheGradientOfSoftmaxSpreadsItsSums) {
  const Graph g = fused_and_checked(
      {numbers({24, 7}, 1), numbers({24, 7}, 2)},
      [](auto& x) {
        const Tensor sum = reduce_sum(x[0] * x[1], {.axis = {1}, .keepdims = true});
        return Tensors{(x[0] - broadcast_like(sum, x[0])) * x[1]};
      },
      kReordered);
  EXPECT_EQ(instructions(only(g, "Fused")), "Mul row:Sum Sub Mul");
  EXPECT_EQ(count_kernels(g), 1);
}

TEST(FuseReductions, SumsOverLeadingAxesEndAProgram) {
  const Graph g = fused_and_checked(
      {numbers({16, 4, 5}, 1), numbers({16, 4, 5}, 2)},
      [](auto& x) {
        const Tensor y = nn::relu_grad(x[0], x[1]);
        return Tensors{y, reduce_sum(y, {.axis = {0, 1}})};
      },
      kReordered);
  EXPECT_EQ(instructions(only(g, "Fused")), "ReluGrad column:Sum");
  EXPECT_EQ(only(g, "Fused").outputs[1].shape.str(), "(5,)");
}

TEST(FuseReductions, TheGradientOfABiasIsAColumnSum) {
  const Graph g = fused_and_checked(
      {numbers({16, 5}, 1), numbers({16, 5}, 2), numbers({5}, 3)},
      [](auto& x) {
        static const OpHandle op("BiasAddGrad");
        const Tensor y = nn::relu_grad(x[0], x[1]);
        return Tensors{y, emit(op, {y}, nn::BiasAddAttrs{}), sum_like(y, x[2])};
      },
      kReordered);
  EXPECT_EQ(instructions(only(g, "Fused")), "ReluGrad column:Sum column:Sum");
}

TEST(FuseReductions, ALossIsReducedWhereItIsComputed) {
  const Graph g = fused_and_checked(
      {numbers({64, 3}, 1), numbers({64, 3}, 2)},
      [](auto& x) { return Tensors{reduce_mean(squared_difference(x[0], x[1]))}; },
      kReordered);
  EXPECT_EQ(instructions(only(g, "Fused")), "SquaredDifference all:Mean");
}

// x / sum(x): the whole sum is there only when the program has ended.
TEST(FuseReductions, WholeSumsAreNotUsedInTheirProgram) {
  const Graph g = fused_and_checked(
      {numbers({64, 64, 3}, 1)},
      [](auto& x) {
        const Tensor y = square(x[0]);
        return Tensors{tanh(y / reduce_sum(y))};
      },
      kReordered);
  EXPECT_EQ(count_kernels(g), 2);
}

// A short vector is one row: its sum is used at once.
TEST(FuseReductions, ShortVectorsAreOneRow) {
  const Graph g = fused_and_checked(
      {numbers({100}, 1)},
      [](auto& x) { return Tensors{sqrt(reduce_sum(square(x[0])) + 1)}; }, kReordered);
  EXPECT_EQ(instructions(only(g, "Fused")), "Square row:Sum AddV2 Sqrt");
  EXPECT_EQ(count_kernels(g), 1);
}

TEST(FuseReductions, MiddleAxesAreNotFused) {
  const Graph g = fused_and_checked(
      {numbers({4, 5, 6}, 1)},
      [](auto& x) { return Tensors{reduce_sum(exp(x[0]), {.axis = {1}})}; }, kReordered);
  EXPECT_EQ(op_list(g), "Exp Sum");
}

TEST(FuseReductions, AxesOfSizeOneDoNotMatter) {
  const Graph g = fused_and_checked(
      {numbers({8, 1, 6}, 1)},
      [](auto& x) {
        const Tensor y = exp(x[0]);
        const Tensor both = reduce_sum(y, {.axis = {1, 2}, .keepdims = true});
        const Tensor last = reduce_max(y, {.axis = {2}, .keepdims = true});
        return Tensors{y / both, y - last};
      },
      kReordered);
  EXPECT_EQ(count_kernels(g), 1);
}

TEST(FuseReductions, FewLongRowsAreLeftToTheReduction) {
  const Body body = [](auto& x) {
    const Tensor y = exp(x[0]);
    return Tensors{y / reduce_sum(y, {.axis = {1}, .keepdims = true})};
  };
  const Graph few = traced({numbers({2, 40000}, 1)}, body);
  EXPECT_EQ(count_ops(fuse_elementwise(few, cpu_fusion_target()), "Sum"), 1);
  const Graph many = traced({numbers({32, 4000}, 1)}, body);
  EXPECT_EQ(count_ops(fuse_elementwise(many, cpu_fusion_target()), "Sum"), 0);
}

// Bools become numbers that can be reduced; the result is a bool again.
TEST(FuseReductions, FiniteChecksAreReducedWhereTheyAreMade) {
  const Graph g = fused_and_checked({numbers({64, 100}, 1)}, [](auto& x) {
    return Tensors{reduce_all(is_finite(x[0] * 1e30))};
  });
  EXPECT_EQ(count_ops(g, "All"), 0);
  EXPECT_EQ(count_kernels(g), 2);  // Mul, IsFinite, Cast, all Min; Cast
}

}  // namespace
}  // namespace tandem
