// Functions with gradients of their own, and functions that are run again instead of
// remembered.
#include <gtest/gtest.h>

#include "support/alone.h"
#include "support/numeric.h"

namespace tandem {
namespace {

using testing::expect_close;
using Tensors = std::vector<Tensor>;

// log(1 + exp(x)) with a gradient that does not overflow.
Tensors log1pexp(const Tensors& in) {
  return custom_gradient(
      [](const Tensors& args) {
        const Tensor x = args[0];
        const Tensor y = log(exp(x) + 1);
        BackwardFn backward = [x](const Tensors& up) {
          return Tensors{up[0] * (1 - 1 / (1 + exp(x)))};
        };
        return std::pair{Tensors{y}, backward};
      },
      in);
}

TEST(CustomGradient, IsUsedInPlaceOfTheOps) {
  const Tensor x = constant(1000.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = log1pexp({x})[0];
  EXPECT_EQ(tape.gradient(y, {x})[0].dense().item<double>(), 1);
}

TEST(CustomGradient, HasSecondDerivatives) {
  const Tensor x = constant({0.3, -0.7});
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(x);
    first = inner.gradient(log1pexp({x})[0], {x})[0];
  }
  std::vector<double> sigmoid, slope;
  for (double v : {0.3, -0.7}) {
    const double s = 1 / (1 + std::exp(-v));
    sigmoid.push_back(s);
    slope.push_back(s * (1 - s));
  }
  expect_close(first, sigmoid, 1e-12);
  expect_close(outer.gradient(first, {x})[0], slope, 1e-12);
}

TEST(CustomGradient, WorksInForwardMode) {
  const Tensor x = constant(0.5);
  const ForwardAccumulator forward({x}, {constant(2.0)});
  const Tensor y = log1pexp({x})[0];
  EXPECT_NEAR(forward.jvp(y).item<double>(), 2 / (1 + std::exp(-0.5)), 1e-12);
}

TEST(CustomGradient, AnInputReturnedUnchangedHasTheGivenGradient) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = custom_gradient(
      [](const Tensors& args) {
        return std::pair{
            args, BackwardFn([](const Tensors& up) { return Tensors{up[0] * 7}; })};
      },
      {x})[0];
  EXPECT_EQ(tape.gradient(y, {x})[0].dense().item<double>(), 7);
}

TEST(CustomGradient, SeveralInputsAndOutputs) {
  const Tensor x = constant(2.0), y = constant(5.0);
  GradientTape tape;
  tape.watch(x);
  tape.watch(y);
  const Tensors out = custom_gradient(
      [](const Tensors& args) {
        BackwardFn backward = [](const Tensors& up) {
          return Tensors{up[0] + 10 * up[1], Tensor()};
        };
        return std::pair{Tensors{args[0] * args[1], args[0] + args[1]}, backward};
      },
      {x, y});
  // Nothing flows into the second output: its upstream gradient is zeros.
  const auto [dx, dy] = tape.gradient(out[0], {x, y});
  EXPECT_EQ(dx.dense().item<double>(), 1);
  EXPECT_FALSE(dy.defined());
}

TEST(CustomGradient, TheWrongNumberOfGradientsIsAnError) {
  const Tensor x = constant(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = custom_gradient(
      [](const Tensors& args) {
        return std::pair{args, BackwardFn([](const Tensors&) { return Tensors{}; })};
      },
      {x})[0];
  EXPECT_ERROR(tape.gradient(y, {x}), ValueError, "returned 0 gradients for 1 inputs");
}

TEST(CustomGradient, InsideAnotherTheInnerOneIsNotRecorded) {
  const Tensor x = constant(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = custom_gradient(
      [](const Tensors& args) {
        return std::pair{log1pexp(args), BackwardFn([](const Tensors& up) {
                           return Tensors{up[0] * 3};
                         })};
      },
      {x})[0];
  EXPECT_EQ(tape.gradient(y, {x})[0].dense().item<double>(), 3);
}

Tensors chain(const Tensors& in) {
  Tensor x = in[0];
  for (int i = 0; i < 8; ++i) x = tanh(x * 1.5);
  return {x};
}

TEST(RecomputeGrad, GivesTheSameGradients) {
  const Tensor x = testing::sample({5}, 1);
  GradientTape kept, again;
  kept.watch(x);
  again.watch(x);
  const Tensor plain = chain({x})[0];
  const Tensor recomputed = recompute_grad(chain, {x})[0];
  expect_close(recomputed, testing::values(plain), 0);
  const Tensor expected = kept.gradient(plain, {x})[0];
  expect_close(again.gradient(recomputed, {x})[0], testing::values(expected), 1e-12);
}

TEST(RecomputeGrad, KeepsNoIntermediates) {
  const Tensor x = testing::sample({4096}, 2);
  const int64_t one = 4096 * 8;
  const int64_t before = config::get_memory_usage("CPU:0");
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad(chain, {x})[0];
  const int64_t held = config::get_memory_usage("CPU:0") - before;
  EXPECT_LT(held, 2 * one) << "the output alone should be held";

  GradientTape keeping;
  keeping.watch(x);
  const Tensor z = chain({x})[0];
  EXPECT_GE(config::get_memory_usage("CPU:0") - before - held, 8 * one);
}

TEST(RecomputeGrad, ReachesVariables) {
  const Variable w(constant(3.0));
  const Tensor x = constant(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad(
      [&w](const Tensors& in) { return Tensors{in[0] * w.read() * w.read()}; }, {x})[0];
  const auto [dx, dw] = tape.gradient(y, {x, w});
  EXPECT_EQ(dx.dense().item<double>(), 9);
  EXPECT_EQ(dw.dense().item<double>(), 12);
}

TEST(RecomputeGrad, HasSecondDerivatives) {
  const Tensor x = constant({0.2, -0.4});
  const testing::Function first = [](const Tensor& at) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(recompute_grad(chain, {at})[0], {at})[0].dense();
  };
  GradientTape outer;
  outer.watch(x);
  const Tensor d = first(x);
  expect_close(outer.gradient(d, {x})[0],
               testing::numeric_directional(first, x, ones_like(x)), 1e-5);
}

TEST(RecomputeGrad, AnExceptionInsideLeavesTheTapeRecording) {
  const Variable w(constant(3.0));
  GradientTape tape;
  EXPECT_THROW(
      recompute_grad([](const Tensors&) -> Tensors { throw InvalidArgumentError("no"); },
                     {constant(1.0)}),
      InvalidArgumentError);
  const Tensor y = w.read() * 2;
  EXPECT_EQ(tape.gradient(y, {w})[0].dense().item<double>(), 2);
}

}  // namespace
}  // namespace tandem
