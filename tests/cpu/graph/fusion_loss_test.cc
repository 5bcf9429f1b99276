// Cross entropies that swallow the scale of their gradient and the casts around them.
#include "fusion_testing.h"
#include "graph/verify.h"
#include "ops/fused_losses.h"

namespace tandem {
namespace {

using namespace testing;

constexpr const char* kFusedLoss = "FusedSparseCrossEntropy";
constexpr const char* kPlain = "SparseSoftmaxCrossEntropyWithLogits";

Graph with_fused_losses(const Tensors& arguments, const Body& body) {
  const Graph before = optimized(arguments, body);
  Graph after = fuse_loss(before);
  verify(after);
  expect_same(before, after, arguments, kClose);
  return after;
}

/// Logits in half precision, labels, a weight for each row, a number.
Tensors logits_layer() {
  return {cast(numbers({6, 5}, 1), bf16),
          constant(std::vector<int32_t>{0, 3, 4, 1, 2, 2}), numbers({6}, 2),
          numbers({}, 3)};
}
Tensor losses(const Tensors& x) {
  return nn::sparse_softmax_cross_entropy(x[1], cast(x[0], float32));
}
/// The loss that `body` makes of the arguments, and its gradient by the logits.
Tensors loss_and_gradient(const Tensors& x,
                          const std::function<Tensor(const Tensors&)>& body) {
  GradientTape tape;
  tape.watch(x[0]);
  const Tensor loss = body(x);
  return {loss, tape.gradient(loss, {x[0]})[0].dense()};
}
bool has_gradient(const Node& n) {
  return n.attrs.ref().as<FusedSparseCrossEntropyAttrs>().gradient;
}

TEST(FuseLoss, TheMeanScalesByANumber) {
  const Graph g = with_fused_losses(logits_layer(), [](auto& x) {
    return loss_and_gradient(x, [](auto& v) { return reduce_mean(losses(v)); });
  });
  EXPECT_EQ(count_ops(g, kPlain), 0);
  EXPECT_EQ(count_ops(g, "Cast"), 0);
  EXPECT_EQ(count_ops(g, "Mul"), 0);
  const Node& n = only(g, kFusedLoss);
  EXPECT_TRUE(has_gradient(n));
  EXPECT_EQ(g.info(n.inputs[0]).dtype, bf16);
  EXPECT_EQ(g.info(n.inputs[kLossScale]).shape, Shape{});
  EXPECT_EQ(n.outputs[0].dtype, float32);
  EXPECT_EQ(n.outputs[1].dtype, bf16);
}

TEST(FuseLoss, WeightsScaleRows) {
  const Graph g = with_fused_losses(logits_layer(), [](auto& x) {
    return loss_and_gradient(x, [](auto& v) { return reduce_sum(losses(v) * v[2]); });
  });
  EXPECT_EQ(count_ops(g, "Cast"), 0);
  EXPECT_EQ(g.info(only(g, kFusedLoss).inputs[kLossScale]).shape, Shape{6});
}

// Loss scaling: a number that is known when the step runs.
TEST(FuseLoss, TheScaleMayBeComputed) {
  const Graph g = with_fused_losses(logits_layer(), [](auto& x) {
    return loss_and_gradient(
        x, [](auto& v) { return reduce_mean(losses(v)) * (v[3] * v[3]); });
  });
  EXPECT_EQ(count_ops(g, "Cast"), 0);
  EXPECT_TRUE(only(g, kFusedLoss).inputs[kLossScale].defined());
}

// Sequences: logits of rank three are looked at as rows, and so is their gradient.
TEST(FuseLoss, ViewsStandInNobodysWay) {
  Tensors arguments = logits_layer();
  arguments[0] = cast(numbers({2, 3, 5}, 1), bf16);
  arguments[1] = reshape(arguments[1], {2, 3});
  arguments[2] = reshape(arguments[2], {2, 3});
  for (const bool weighted : {false, true}) {
    const Graph g = with_fused_losses(arguments, [&](auto& x) {
      return loss_and_gradient(x, [&](auto& v) {
        return weighted ? reduce_sum(losses(v) * v[2]) : reduce_mean(losses(v));
      });
    });
    EXPECT_EQ(count_ops(g, "Cast"), 0) << g.dump();
    EXPECT_EQ(only(g, kFusedLoss).outputs[1].shape, (Shape{6, 5}));
  }
}

TEST(FuseLoss, WithoutAGradientNoneIsMade) {
  const Graph g =
      with_fused_losses(logits_layer(), [](auto& x) { return Tensors{losses(x)}; });
  EXPECT_EQ(count_ops(g, "Cast"), 0);
  EXPECT_FALSE(has_gradient(only(g, kFusedLoss)));
  EXPECT_EQ(only(g, kFusedLoss).outputs[1].shape, Shape{0});
}

TEST(FuseLoss, OthersMayReadTheCastLogits) {
  const Graph g = with_fused_losses(logits_layer(), [](auto& x) {
    const Tensor wide = cast(x[0], float32);
    return Tensors{nn::sparse_softmax_cross_entropy(x[1], wide),
                   argmax(wide, {.axis = 1})};
  });
  EXPECT_EQ(count_ops(g, kFusedLoss), 1);
  EXPECT_EQ(count_ops(g, "Cast"), 1);
}

// Logits in full precision, or a gradient that is wanted so: the scale alone.
TEST(FuseLoss, WithoutCastsTheGradientIsScaled) {
  const auto wide = [](const Tensors& x, DType end) {
    GradientTape tape;
    const Tensor logits = cast(x[0], float32);
    tape.watch(logits);
    const Tensor loss = reduce_mean(nn::sparse_softmax_cross_entropy(x[1], logits));
    const Tensor by = tape.gradient(loss, {logits})[0].dense();
    return end == float32 ? Tensors{loss, by, cast(by, bf16)}
                          : Tensors{loss, cast(by, end)};
  };
  for (const DType end : {float32, DType::kFloat16}) {
    const Graph g =
        with_fused_losses(logits_layer(), [&](auto& x) { return wide(x, end); });
    const Node& n = only(g, kFusedLoss);
    EXPECT_EQ(g.info(n.inputs[0]).dtype, float32);
    EXPECT_EQ(n.outputs[1].dtype, float32);
    EXPECT_EQ(count_ops(g, "Mul"), 0);
    EXPECT_EQ(count_ops(g, "Cast"), 2);
  }
  const Graph g = with_fused_losses({numbers({6, 5}, 1), logits_layer()[1]}, [](auto& x) {
    GradientTape tape;
    tape.watch(x[0]);
    const Tensor loss = reduce_mean(nn::sparse_softmax_cross_entropy(x[1], x[0]));
    const Tensor by = tape.gradient(loss, {x[0]})[0].dense();
    return Tensors{loss, matmul(by, x[0], {.transpose_b = true}),
                   reduce_sum(by, {.axis = {0}})};
  });
  EXPECT_TRUE(has_gradient(only(g, kFusedLoss)));
  EXPECT_EQ(count_ops(g, "Mul"), 0) << g.dump();
}

TEST(FuseLoss, WhatDoesNotFitStays) {
  const auto stays = [](const char* what, const Tensors& arguments, const Body& body) {
    SCOPED_TRACE(what);
    EXPECT_EQ(count_ops(with_fused_losses(arguments, body), kFusedLoss), 0);
  };
  stays("the gradient is not scaled", logits_layer(), [](auto& x) {
    GradientTape tape;
    const Tensor logits = cast(x[0], float32);
    tape.watch(logits);
    const Tensor loss = nn::sparse_softmax_cross_entropy(x[1], logits);
    return Tensors{loss, tape.gradient(loss, {logits})[0].dense()};
  });
  stays("double precision", {cast(numbers({6, 5}, 1), float64), logits_layer()[1]},
        [](auto& x) { return Tensors{nn::sparse_softmax_cross_entropy(x[1], x[0])}; });
  stays("the scale depends on the loss", logits_layer(), [](auto& x) {
    return loss_and_gradient(x, [](auto& v) {
      const Tensor loss = reduce_mean(losses(v));
      return loss * loss;
    });
  });
}

// Each loss scales the other's gradient: neither could come first.
TEST(FuseLoss, TwoThatScaleEachOtherStay) {
  Tensors arguments = logits_layer();
  arguments.push_back(cast(numbers({6, 5}, 7), bf16));
  const Graph g = with_fused_losses(arguments, [](auto& x) {
    GradientTape tape;
    tape.watch(x[0]);
    tape.watch(x[4]);
    const Tensor loss =
        reduce_mean(losses(x)) * reduce_mean(losses({x[4], x[1], x[2], x[3]}));
    Tensors all = {loss};
    for (const auto& by : tape.gradient(loss, {x[0], x[4]})) all.push_back(by.dense());
    return all;
  });
  EXPECT_EQ(count_ops(g, kFusedLoss), 0);
  EXPECT_EQ(count_ops(g, kPlain), 2);
}

}  // namespace
}  // namespace tandem
