// Gradients of batch normalisations that swallow relu's.
#include "fusion_testing.h"
#include "graph/verify.h"
#include "op/emitter.h"
#include "ops/fused_norms.h"

namespace tandem {
namespace {

using namespace testing;

constexpr const char* kFusedNormGrad = "FusedBatchNormGradEx";

Graph with_fused_norm_grads(const Tensors& arguments, const Body& body) {
  const Graph before = optimized(arguments, body);
  const Graph forward = fuse_norm(before);
  Graph after = fuse_norm_grad(forward);
  verify(after);
  expect_same(before, after, arguments, kClose);
  return after;
}

/// x, scale, offset, a gradient, and a tensor of x's shape.
Tensors norm_grad_layer() {
  return {numbers({4, 3, 5}, 1), numbers({5}, 2), numbers({5}, 3), numbers({4, 3, 5}, 4),
          numbers({4, 3, 5}, 5)};
}
Tensor norm_with_moments(const Tensors& x, const nn::FusedBatchNormAttrs& attrs = {}) {
  return nn::fused_batch_norm(x[0], x[1], x[2], x[1] * x[1], x[2] * x[2] + 1, attrs).y;
}
/// The gradients of what `body` gives, if dy arrives there, by x, scale and offset.
Tensors gradients(const Tensors& x, const std::function<Tensor(const Tensors&)>& body,
                  const Tensor& dy) {
  GradientTape tape;
  for (size_t i = 0; i < 3; ++i) tape.watch(x[i]);
  const Tensor y = body(x);
  Tensors all;
  const Tensors by = {x[0], x[1], x[2]};
  for (const auto& g : tape.gradient(y, by, {.output_gradients = {dy}})) {
    all.push_back(g.dense());
  }
  return all;
}
const FusedBatchNormGradExAttrs& attrs_of(const Node& n) {
  return n.attrs.ref().as<FusedBatchNormGradExAttrs>();
}

TEST(FuseNormGrad, TheMaskIsComputedAgain) {
  for (const bool training : {true, false}) {
    const Graph g = with_fused_norm_grads(norm_grad_layer(), [&](auto& x) {
      return gradients(
          x,
          [&](auto& v) {
            return nn::relu(
                norm_with_moments(v, {.epsilon = 1e-2, .is_training = training}));
          },
          x[3]);
    });
    EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
    const Node& n = only(g, kFusedNormGrad);
    EXPECT_EQ(n.name, "fused/Relu_BatchNormGrad");
    EXPECT_FALSE(n.inputs[kNormGradY].defined());
    EXPECT_TRUE(n.inputs[kNormGradOffset].defined());
    EXPECT_FALSE(n.inputs[kNormGradMore].defined());
    EXPECT_FALSE(attrs_of(n).side);
    EXPECT_EQ(attrs_of(n).epsilon, 1e-2);
    EXPECT_EQ(attrs_of(n).is_training, training);
  }
}

TEST(FuseNormGrad, WithAShortcutTheResultIsRead) {
  const Graph g = with_fused_norm_grads(norm_grad_layer(), [](auto& x) {
    return gradients(
        x, [&](auto& v) { return nn::relu(norm_with_moments(v) + x[4]); }, x[3]);
  });
  EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
  EXPECT_TRUE(only(g, kFusedNormGrad).inputs[kNormGradY].defined());
  EXPECT_FALSE(only(g, kFusedNormGrad).inputs[kNormGradOffset].defined());
  EXPECT_FALSE(attrs_of(only(g, kFusedNormGrad)).side);
}

// A block whose shortcut is its input: what relu's gradient gives goes both ways.
TEST(FuseNormGrad, WhatTheShortcutWantsIsWritten) {
  const Graph g = with_fused_norm_grads(norm_grad_layer(), [](auto& x) {
    return gradients(
        x, [](auto& v) { return nn::relu(norm_with_moments(v) + v[0]); }, x[3]);
  });
  EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
  EXPECT_TRUE(attrs_of(only(g, kFusedNormGrad)).side);
  EXPECT_FALSE(only(g, kFusedNormGrad).inputs[kNormGradMore].defined());
}

// The result is used twice by what is no elementwise op.
TEST(FuseNormGrad, TwoGradientsAreAddedThere) {
  const Tensors given = {numbers({12, 5}, 1), numbers({5}, 2), numbers({5}, 3),
                         numbers({5, 5}, 4), numbers({5, 5}, 5)};
  const Graph g = with_fused_norm_grads(given, [](auto& x) {
    const auto body = [&](auto& v) {
      const Tensor y = nn::relu(norm_with_moments(v));
      return matmul(y, x[3]) - matmul(y, x[4]);
    };
    return gradients(x, body, body(x));
  });
  EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
  EXPECT_EQ(only(g, kFusedNormGrad).name, "fused/Add_Relu_BatchNormGrad");
  EXPECT_TRUE(only(g, kFusedNormGrad).inputs[kNormGradMore].defined());
  EXPECT_TRUE(attrs_of(only(g, kFusedNormGrad)).side);
}

// One kernel for the steps before and relu's gradient reads and writes less.
TEST(FuseNormGrad, ElementwiseStepsKeepTheirReluWhereTheResultIsRead) {
  const Graph g = with_fused_norm_grads(norm_grad_layer(), [](auto& x) {
    return gradients(
        x, [&](auto& v) { return nn::relu(norm_with_moments(v) + x[4]); },
        exp(x[3]) * x[4]);
  });
  EXPECT_EQ(count_ops(g, kFusedNormGrad), 0);
  const Graph again = with_fused_norm_grads(norm_grad_layer(), [](auto& x) {
    return gradients(
        x, [](auto& v) { return nn::relu(norm_with_moments(v)); }, exp(x[3]) * x[4]);
  });
  EXPECT_EQ(count_ops(again, kFusedNormGrad), 1);
}

TEST(FuseNormGrad, OtherGradientsStay) {
  // Spread over the images: a fused program need not write it.
  Tensors given = norm_grad_layer();
  given[3] = numbers({5}, 4);
  const Graph spread = with_fused_norm_grads(given, [](auto& x) {
    return gradients(
        x, [](auto& v) { return nn::relu(norm_with_moments(v)); },
        broadcast_like(x[3], x[0]));
  });
  EXPECT_EQ(count_ops(spread, kFusedNormGrad), 0);
  // No relu.
  const Graph plain = with_fused_norm_grads(norm_grad_layer(), [](auto& x) {
    return gradients(x, [](auto& v) { return norm_with_moments(v); }, x[3]);
  });
  EXPECT_EQ(count_ops(plain, kFusedNormGrad), 0);
}

// Another normalisation's moments: the mask cannot be found again from them.
TEST(FuseNormGrad, OtherMomentsReadTheResult) {
  static const OpHandle op("FusedBatchNormGradV3");
  const Graph g = with_fused_norm_grads(norm_grad_layer(), [](auto& x) {
    const auto n = nn::fused_batch_norm(x[0], x[1], x[2], {}, {});
    const Tensor variance = x[1] * x[1];
    const Tensor dy = nn::relu_grad(x[3], nn::relu(n.y));
    const Tensors all =
        emit_all(op, {dy, x[0], x[1], x[2], variance, x[2]}, nn::FusedBatchNormAttrs{});
    return Tensors{all[0], all[1], all[2]};
  });
  EXPECT_TRUE(only(g, kFusedNormGrad).inputs[kNormGradY].defined());
}

// What the gradient normalises was made from relu's gradient: they cannot be one.
TEST(FuseNormGrad, AnXThatComesFromTheMaskStays) {
  static const OpHandle op("FusedBatchNormGradV3");
  const Graph g = with_fused_norm_grads(norm_grad_layer(), [](auto& x) {
    const Tensor dy = nn::relu_grad(x[3], x[4]);
    const Tensors all = emit_all(op, {dy, dy * x[0], x[1], x[2], x[1] * x[1], x[2]},
                                 nn::FusedBatchNormAttrs{});
    return Tensors{all[0], all[1], all[2]};
  });
  EXPECT_EQ(count_ops(g, kFusedNormGrad), 0);
  EXPECT_EQ(count_ops(g, "ReluGrad"), 1);
}

TEST(FuseNormGrad, OfTwoBehindOneReluTheFirstTakesIt) {
  const Graph g = with_fused_norm_grads(norm_grad_layer(), [](auto& x) {
    return gradients(
        x,
        [&](auto& v) {
          return nn::relu(norm_with_moments(v) + norm_with_moments({x[4], v[1], v[2]}));
        },
        x[3]);
  });
  EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
  EXPECT_EQ(count_ops(g, "FusedBatchNormGradV3"), 1);
  EXPECT_TRUE(attrs_of(only(g, kFusedNormGrad)).side);
}

TEST(FuseNormGrad, NothingIsDoneWhereItIsNotAllowed) {
  const Graph before = optimized(norm_grad_layer(), [](auto& x) {
    return gradients(x, [](auto& v) { return nn::relu(norm_with_moments(v)); }, x[3]);
  });
  const auto never = [](const Graph&, const Node&, const OpDef&, AttrsRef, ValueRef) {
    return false;
  };
  EXPECT_EQ(count_ops(fuse_norm_grad(before, nullptr, never), "ReluGrad"), 1);
}

}  // namespace
}  // namespace tandem
