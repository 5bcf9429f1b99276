// Batch normalisations that swallow a sum and relu.
#include "fusion_testing.h"
#include "graph/verify.h"
#include "ops/fused_norms.h"

namespace tandem {
namespace {

using namespace testing;

Graph with_fused_norms(const Tensors& arguments, const Body& body) {
  const Graph before = traced(arguments, body);
  Graph after = fuse_norm(before);
  verify(after);
  expect_same(before, after, arguments, kClose);
  return after;
}

/// x, scale, offset, and a tensor of x's shape.
Tensors norm_layer() {
  return {numbers({4, 3, 5}, 1), numbers({5}, 2), numbers({5}, 3), numbers({4, 3, 5}, 4)};
}
Tensor norm(const Tensors& x) { return nn::fused_batch_norm(x[0], x[1], x[2], {}, {}).y; }

TEST(FuseNorm, ReluGoesIntoTheNormalisation) {
  const Graph g =
      with_fused_norms(norm_layer(), [](auto& x) { return Tensors{nn::relu(norm(x))}; });
  EXPECT_EQ(op_list(g), "FusedBatchNormEx");
  EXPECT_EQ(only(g, "FusedBatchNormEx").name, "fused/BatchNorm_Relu");
  EXPECT_FALSE(only(g, "FusedBatchNormEx").inputs[kNormSide].defined());
}

TEST(FuseNorm, SoDoesASum) {
  for (const bool turned : {false, true}) {
    const Graph g = with_fused_norms(norm_layer(), [&](auto& x) {
      return Tensors{nn::relu(turned ? x[3] + norm(x) : norm(x) + x[3])};
    });
    EXPECT_EQ(op_list(g), "FusedBatchNormEx");
    EXPECT_TRUE(only(g, "FusedBatchNormEx").inputs[kNormSide].defined());
  }
}

TEST(FuseNorm, MomentsAndAttributesAreKept) {
  const nn::FusedBatchNormAttrs attrs{.epsilon = 0.5, .exponential_avg_factor = 0.1};
  Tensors given = norm_layer();
  given.push_back(numbers({5}, 5));
  given.push_back(numbers({5}, 6));
  const Graph g = with_fused_norms(given, [&](auto& x) {
    const auto n = nn::fused_batch_norm(x[0], x[1], x[2], x[4], x[5], attrs);
    return Tensors{nn::relu(n.y), n.batch_mean, n.batch_variance};
  });
  EXPECT_EQ(op_list(g), "FusedBatchNormEx");
  const auto& now =
      only(g, "FusedBatchNormEx").attrs.ref().template as<FusedBatchNormExAttrs>();
  EXPECT_EQ(now.epsilon, 0.5);
  EXPECT_EQ(now.exponential_avg_factor, 0.1);
}

TEST(FuseNorm, OfTwoThatAreAddedOneIsTheOthersSide) {
  const Graph g = with_fused_norms(norm_layer(), [](auto& x) {
    const Tensor other = nn::fused_batch_norm(x[3], x[1], x[2], {}, {}).y;
    return Tensors{nn::relu(norm(x) + other)};
  });
  EXPECT_EQ(op_list(g), "FusedBatchNormV3 FusedBatchNormEx");
}

TEST(FuseNorm, WhatOthersUseStays) {
  const Graph returned = with_fused_norms(norm_layer(), [](auto& x) {
    const Tensor y = norm(x);
    return Tensors{nn::relu(y), y};
  });
  EXPECT_EQ(op_list(returned), "FusedBatchNormV3 Relu");
  const Graph read = with_fused_norms(norm_layer(), [](auto& x) {
    const Tensor y = norm(x) + x[3];
    return Tensors{nn::relu(y), y * y};
  });
  EXPECT_EQ(op_list(read), "FusedBatchNormV3 AddV2 Relu Mul");
}

TEST(FuseNorm, OtherSumsAreNoSide) {
  Tensors given = norm_layer();
  given[3] = numbers({5}, 4);  // broadcasts
  const Graph g =
      with_fused_norms(given, [](auto& x) { return Tensors{nn::relu(norm(x) + x[3])}; });
  EXPECT_EQ(op_list(g), "FusedBatchNormV3 AddV2 Relu");
  const Graph twice = with_fused_norms(norm_layer(), [](auto& x) {
    const Tensor y = norm(x);
    return Tensors{nn::relu(y + y)};
  });
  EXPECT_EQ(op_list(twice), "FusedBatchNormV3 AddV2 Relu");
}

// What is added was made from the normalisation's own moments: it cannot come before it.
TEST(FuseNorm, ASideThatComesFromTheNormalisationStays) {
  const Graph g = with_fused_norms(norm_layer(), [](auto& x) {
    const auto n = nn::fused_batch_norm(x[0], x[1], x[2], {}, {});
    return Tensors{nn::relu(n.y + (x[3] + n.batch_mean))};
  });
  EXPECT_EQ(op_list(g), "FusedBatchNormV3 AddV2 AddV2 Relu");
}

TEST(FuseNorm, GradientsOfReluLookAtTheResult) {
  const Graph g = with_fused_norms(norm_layer(), [](auto& x) {
    const Tensor sum = norm(x) + x[3];
    const Tensor y = nn::relu(sum);
    return Tensors{y, nn::relu_grad(y + 1, sum)};
  });
  EXPECT_EQ(op_list(g), "FusedBatchNormEx AddV2 ReluGrad");
}

TEST(FuseNorm, NothingIsDoneWhereItIsNotAllowed) {
  const Graph before =
      traced(norm_layer(), [](auto& x) { return Tensors{nn::relu(norm(x))}; });
  const auto never = [](const Graph&, const Node&, const OpDef&, AttrsRef, ValueRef) {
    return false;
  };
  EXPECT_EQ(op_list(fuse_norm(before, nullptr, never)), "FusedBatchNormV3 Relu");
}

}  // namespace
}  // namespace tandem
