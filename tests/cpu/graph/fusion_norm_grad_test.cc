// Gradients of batch normalisations that swallow relu's.
#include "fusion_testing.h"
#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "op/emitter.h"
#include "ops/fused_norms.h"
#include "support/traced.h"

namespace tandem {
namespace {

using namespace testing;

constexpr double kClose = 1e-5;
constexpr const char* kFused = "FusedBatchNormGradEx";

/// With gradients inside, after all passes but fusion.
Graph optimized(const Tensors& arguments, const Body& body) {
  return optimize(specialize(*trace(body, arguments), infos_of(arguments)));
}
Graph fused(const Tensors& arguments, const Body& body) {
  const Graph before = optimized(arguments, body);
  const Graph forward = fuse_norm(before);
  Graph after = fuse_norm_grad(forward);
  verify(after);
  expect_same(before, after, arguments, kClose);
  return after;
}

/// x, scale, offset, a gradient, and a tensor of x's shape.
Tensors layer() {
  return {numbers({4, 3, 5}, 1), numbers({5}, 2), numbers({5}, 3), numbers({4, 3, 5}, 4),
          numbers({4, 3, 5}, 5)};
}
Tensor norm(const Tensors& x, const nn::FusedBatchNormAttrs& attrs = {}) {
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
    const Graph g = fused(layer(), [&](auto& x) {
      return gradients(
          x,
          [&](auto& v) {
            return nn::relu(norm(v, {.epsilon = 1e-2, .is_training = training}));
          },
          x[3]);
    });
    EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
    const Node& n = only(g, kFused);
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
  const Graph g = fused(layer(), [](auto& x) {
    return gradients(x, [&](auto& v) { return nn::relu(norm(v) + x[4]); }, x[3]);
  });
  EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
  EXPECT_TRUE(only(g, kFused).inputs[kNormGradY].defined());
  EXPECT_FALSE(only(g, kFused).inputs[kNormGradOffset].defined());
  EXPECT_FALSE(attrs_of(only(g, kFused)).side);
}

// A block whose shortcut is its input: what relu's gradient gives goes both ways.
TEST(FuseNormGrad, WhatTheShortcutWantsIsWritten) {
  const Graph g = fused(layer(), [](auto& x) {
    return gradients(x, [](auto& v) { return nn::relu(norm(v) + v[0]); }, x[3]);
  });
  EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
  EXPECT_TRUE(attrs_of(only(g, kFused)).side);
  EXPECT_FALSE(only(g, kFused).inputs[kNormGradMore].defined());
}

// The result is used twice by what is no elementwise op.
TEST(FuseNormGrad, TwoGradientsAreAddedThere) {
  const Tensors given = {numbers({12, 5}, 1), numbers({5}, 2), numbers({5}, 3),
                         numbers({5, 5}, 4), numbers({5, 5}, 5)};
  const Graph g = fused(given, [](auto& x) {
    const auto body = [&](auto& v) {
      const Tensor y = nn::relu(norm(v));
      return matmul(y, x[3]) - matmul(y, x[4]);
    };
    return gradients(x, body, body(x));
  });
  EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
  EXPECT_EQ(only(g, kFused).name, "fused/Add_Relu_BatchNormGrad");
  EXPECT_TRUE(only(g, kFused).inputs[kNormGradMore].defined());
  EXPECT_TRUE(attrs_of(only(g, kFused)).side);
}

// One kernel for the steps before and relu's gradient reads and writes less.
TEST(FuseNormGrad, ElementwiseStepsKeepTheirReluWhereTheResultIsRead) {
  const Graph g = fused(layer(), [](auto& x) {
    return gradients(
        x, [&](auto& v) { return nn::relu(norm(v) + x[4]); }, exp(x[3]) * x[4]);
  });
  EXPECT_EQ(count_ops(g, kFused), 0);
  const Graph again = fused(layer(), [](auto& x) {
    return gradients(x, [](auto& v) { return nn::relu(norm(v)); }, exp(x[3]) * x[4]);
  });
  EXPECT_EQ(count_ops(again, kFused), 1);
}

TEST(FuseNormGrad, OtherGradientsStay) {
  // Spread over the images: a fused program need not write it.
  Tensors given = layer();
  given[3] = numbers({5}, 4);
  const Graph spread = fused(given, [](auto& x) {
    return gradients(
        x, [](auto& v) { return nn::relu(norm(v)); }, broadcast_like(x[3], x[0]));
  });
  EXPECT_EQ(count_ops(spread, kFused), 0);
  // No relu.
  const Graph plain = fused(layer(), [](auto& x) {
    return gradients(x, [](auto& v) { return norm(v); }, x[3]);
  });
  EXPECT_EQ(count_ops(plain, kFused), 0);
}

// Another normalisation's moments: the mask cannot be found again from them.
TEST(FuseNormGrad, OtherMomentsReadTheResult) {
  static const OpHandle op("FusedBatchNormGradV3");
  const Graph g = fused(layer(), [](auto& x) {
    const auto n = nn::fused_batch_norm(x[0], x[1], x[2], {}, {});
    const Tensor variance = x[1] * x[1];
    const Tensor dy = nn::relu_grad(x[3], nn::relu(n.y));
    const Tensors all =
        emit_all(op, {dy, x[0], x[1], x[2], variance, x[2]}, nn::FusedBatchNormAttrs{});
    return Tensors{all[0], all[1], all[2]};
  });
  EXPECT_TRUE(only(g, kFused).inputs[kNormGradY].defined());
}

// What the gradient normalises was made from relu's gradient: they cannot be one.
TEST(FuseNormGrad, AnXThatComesFromTheMaskStays) {
  static const OpHandle op("FusedBatchNormGradV3");
  const Graph g = fused(layer(), [](auto& x) {
    const Tensor dy = nn::relu_grad(x[3], x[4]);
    const Tensors all = emit_all(op, {dy, dy * x[0], x[1], x[2], x[1] * x[1], x[2]},
                                 nn::FusedBatchNormAttrs{});
    return Tensors{all[0], all[1], all[2]};
  });
  EXPECT_EQ(count_ops(g, kFused), 0);
  EXPECT_EQ(count_ops(g, "ReluGrad"), 1);
}

TEST(FuseNormGrad, OfTwoBehindOneReluTheFirstTakesIt) {
  const Graph g = fused(layer(), [](auto& x) {
    return gradients(
        x, [&](auto& v) { return nn::relu(norm(v) + norm({x[4], v[1], v[2]})); }, x[3]);
  });
  EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
  EXPECT_EQ(count_ops(g, "FusedBatchNormGradV3"), 1);
  EXPECT_TRUE(attrs_of(only(g, kFused)).side);
}

TEST(FuseNormGrad, NothingIsDoneWhereItIsNotAllowed) {
  const Graph before = optimized(layer(), [](auto& x) {
    return gradients(x, [](auto& v) { return nn::relu(norm(v)); }, x[3]);
  });
  const auto never = [](const Graph&, const Node&, const OpDef&, AttrsRef, ValueRef) {
    return false;
  };
  EXPECT_EQ(count_ops(fuse_norm_grad(before, nullptr, never), "ReluGrad"), 1);
}

}  // namespace
}  // namespace tandem
