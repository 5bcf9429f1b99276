// Forward mode, alone and together with tapes.
#include <gtest/gtest.h>

#include "support/alone.h"
#include "support/numeric.h"

namespace tandem {
namespace {

using testing::expect_close;
using testing::Function;
using testing::numeric_directional;
using testing::sample;

TEST(Forward, DirectionalDerivativesOfAChain) {
  const Tensor x = sample({2, 3}, 1), t = sample({2, 3}, 2), m = sample({3, 2}, 3);
  const Function f = [&](const Tensor& at) {
    return reduce_sum(exp(matmul(at, m)) * 2, {.axis = {1}});
  };
  const ForwardAccumulator forward({x}, {t});
  const Tensor y = f(x);
  expect_close(forward.jvp(y), numeric_directional(f, x, t));
}

TEST(Forward, IntermediatesHaveTangentsToo) {
  const Tensor x = constant(3.0);
  const ForwardAccumulator forward({x}, {constant(1.0)});
  const Tensor y = x * x;
  const Tensor z = y * x;
  EXPECT_EQ(forward.jvp(x).item<double>(), 1);
  EXPECT_EQ(forward.jvp(y).item<double>(), 6);
  EXPECT_EQ(forward.jvp(z).item<double>(), 27);
}

TEST(Forward, UnconnectedTensorsHaveNone) {
  const Tensor x = constant(3.0), other = constant(2.0);
  const ForwardAccumulator forward({x}, {constant(1.0)});
  const Tensor y = other * other;
  EXPECT_FALSE(forward.jvp(y).defined());
  EXPECT_EQ(forward.jvp(y, Unconnected::kZero).item<double>(), 0);
  EXPECT_FALSE(forward.jvp(stop_gradient(x)).defined());
  EXPECT_FALSE(forward.jvp(cast(x, int32)).defined());
}

TEST(Forward, VariablesArePrimals) {
  const Variable w(constant({1.0, 2.0}));
  const ForwardAccumulator forward({w}, {constant({1.0, 10.0})});
  const Tensor y = w.read() * w.read();
  expect_close(forward.jvp(y), {2, 40});
}

TEST(Forward, GatheredVariablesToo) {
  const Variable w(constant({{1.0}, {2.0}}));
  const ForwardAccumulator forward({w}, {constant({{3.0}, {4.0}})});
  expect_close(forward.jvp(w.gather(constant({1, 0}))), {4, 3});
}

TEST(Forward, SeveralPrimalsAddUp) {
  const Tensor x = constant(2.0), y = constant(3.0);
  const ForwardAccumulator forward({x, y}, {constant(1.0), constant(10.0)});
  EXPECT_EQ(forward.jvp(x * y).item<double>(), 23);
}

TEST(Forward, BadTangentsAreRefused) {
  const Tensor x = constant({1.0, 2.0});
  EXPECT_ERROR(ForwardAccumulator({x}, {}), ValueError, "1 primals but 0 tangents");
  EXPECT_ERROR(ForwardAccumulator({x}, {constant(1.0)}), ValueError,
               "the tangent of primal 0 has shape (), expected (2,)");
}

TEST(Forward, EndsWithItsLife) {
  const Tensor x = constant(2.0);
  Tensor y;
  {
    const ForwardAccumulator forward({x}, {constant(1.0)});
    y = x * x;
  }
  const ForwardAccumulator later({y}, {constant(1.0)});
  EXPECT_FALSE(later.jvp(x * x).defined());
}

Tensor objective(const Tensor& x) { return reduce_sum(exp(x) * x * x); }

TEST(Forward, OverReverseGivesHessianVectorProducts) {
  const Tensor x = sample({4}, 4), v = sample({4}, 5);
  const Function gradient = [](const Tensor& at) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(objective(at), {at})[0].dense();
  };
  const ForwardAccumulator forward({x}, {v});
  const Tensor g = gradient(x);
  expect_close(forward.jvp(g), numeric_directional(gradient, x, v), 1e-5);
}

TEST(Forward, UnderReverseGivesTheSame) {
  const Tensor x = sample({4}, 4), v = sample({4}, 5);
  const Function gradient = [](const Tensor& at) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(objective(at), {at})[0].dense();
  };
  GradientTape tape;
  tape.watch(x);
  Tensor directional;
  {
    const ForwardAccumulator forward({x}, {v});
    directional = forward.jvp(objective(x));
  }
  expect_close(tape.gradient(directional, {x})[0], numeric_directional(gradient, x, v),
               1e-5);
}

TEST(Forward, OverForwardGivesSecondDerivatives) {
  const Tensor x = constant(2.0), one = constant(1.0);
  const ForwardAccumulator outer({x}, {one});
  Tensor first;
  {
    const ForwardAccumulator inner({x}, {one});
    first = inner.jvp(x * x * x);
  }
  EXPECT_EQ(first.item<double>(), 12);
  EXPECT_EQ(outer.jvp(first).item<double>(), 12);
}

}  // namespace
}  // namespace tandem
