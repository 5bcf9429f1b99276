// Gradients of the user's own inside compiled functions, asked for from outside: the
// graph carries them.
#include <gtest/gtest.h>

#include "graph/equal.h"
#include "graph/serialize.h"
#include "run/compiled_function.h"
#include "support/alone.h"
#include "support/numeric.h"
#include "support/traced.h"

namespace tandem {
namespace {

using testing::expect_close;
using Tensors = std::vector<Tensor>;

// x² with the gradient `slope`·x: wrong on purpose, so that it can be told from x²'s own.
Tensor square_with_slope(const Tensor& x, double slope) {
  return custom_gradient(
      [slope](const Tensors& in) {
        const Tensor v = in[0];
        return std::pair{Tensors{v * v}, BackwardFn([v, slope](const Tensors& up) {
                           return Tensors{up[0] * v * slope};
                         })};
      },
      {x})[0];
}

Tensor gradient_of(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  return tape.gradient(y, x).dense();
}

TEST(TracedCustomGradient, IsSeenByATapeOutside) {
  auto f = function([](Tensor x) { return square_with_slope(x, 7) * 3; });
  const Tensor x = constant({1.0, 2.0});
  expect_close(gradient_of(f, x), std::vector<double>{21, 42}, 1e-12);
  expect_close(f(x), std::vector<double>{3, 12}, 1e-12);
}

TEST(TracedCustomGradient, AndByOneInside) {
  auto f = function([](Tensor x) {
    return gradient_of([](const Tensor& v) { return square_with_slope(v, 7); }, x);
  });
  EXPECT_EQ(f(constant(2.0)).item<double>(), 14);
}

TEST(TracedCustomGradient, InFunctionsInFunctions) {
  auto inner = function([](Tensor x) { return square_with_slope(x, 5); });
  auto outer = function([&](Tensor x) { return inner(x) + inner(x * 2); });
  // d/dx: 5x + 2 · 5 · 2x
  EXPECT_EQ(gradient_of(outer, constant(3.0)).item<double>(), 25 * 3);
}

TEST(TracedCustomGradient, InBranchesAndLoops) {
  auto f = function([](Tensor x) {
    const Tensor y =
        cond(x > 0.0, [&] { return square_with_slope(x, 7); }, [&] { return x * 10; });
    return while_loop(
        [](const Tensors& s) { return s[0] < 2; },
        [](const Tensors& s) { return Tensors{s[0] + 1, square_with_slope(s[1], 3)}; },
        {constant(0), y})[1];
  });
  // y = x², then twice z → z² with slope 3z: 7x · 3y · 3y².
  const double x = 1.5, y = x * x;
  EXPECT_NEAR(gradient_of(f, constant(x)).item<double>(), 7 * x * 3 * y * 3 * y * y,
              1e-9);
  EXPECT_EQ(gradient_of(f, constant(-0.5)).item<double>(), 10 * 3 * -5 * 3 * 25);
  // A tape inside of the function, around the branch.
  auto g = function([](Tensor v) {
    return gradient_of(
        [](const Tensor& t) {
          return cond(
              t > 0.0, [&] { return square_with_slope(t, 7); }, [&] { return t; });
        },
        v);
  });
  EXPECT_EQ(g(constant(2.0)).item<double>(), 14);
}

TEST(TracedCustomGradient, SecondDerivatives) {
  // The given gradient is 7x, so that its derivative is 7: by the input and by an
  // intermediate value, which the gradient keeps.
  const auto keeps = [](const Tensor& x) {
    return custom_gradient(
        [](const Tensors& in) {
          const Tensor cube = in[0] * in[0] * in[0];
          return std::pair{Tensors{cube}, BackwardFn([cube](const Tensors& up) {
                             return Tensors{up[0] * cube};
                           })};
        },
        {x})[0];
  };
  auto linear = function([](Tensor x) { return square_with_slope(x, 7); });
  auto kept = function([&](Tensor x) { return keeps(x); });
  const Tensor x = constant(2.0);
  const auto second = [&](const auto& f) {
    GradientTape outer;
    outer.watch(x);
    const Tensor first = gradient_of(f, x);
    return outer.gradient(first, x).dense().template item<double>();
  };
  EXPECT_EQ(second(linear), 7);
  EXPECT_EQ(second(kept), 3 * 4);
  // Eagerly the same.
  EXPECT_EQ(second(keeps), 3 * 4);
  EXPECT_EQ(second([](const Tensor& v) { return square_with_slope(v, 7); }), 7);
}

TEST(TracedCustomGradient, ForwardModeAndJacobian) {
  auto f = function([](Tensor x) { return square_with_slope(x, 7); });
  const Tensor x = constant({1.0, 2.0});
  {
    const ForwardAccumulator forward({x}, {constant({1.0, 10.0})});
    const Tensor y = f(x);
    expect_close(forward.jvp(y), std::vector<double>{7, 140}, 1e-12);
  }
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x);
  expect_close(tape.jacobian(y, x), std::vector<double>{7, 0, 0, 14}, 1e-12);
}

TEST(TracedCustomGradient, UsesVariablesAndSeveralOutputs) {
  Variable w(constant(4.0));
  auto f = function([&](Tensor x, Tensor y) {
    const Tensors out = custom_gradient(
        [&](const Tensors& in) {
          const Tensor a = in[0], b = in[1];
          return std::pair{Tensors{a + b, a * b}, BackwardFn([&w, a](const Tensors& up) {
                             return Tensors{up[0] * w.read(), up[1] * a};
                           })};
        },
        {x, y});
    return std::pair{out[0], out[1]};
  });
  const Tensor x = constant(2.0), y = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  const auto [sum, product] = f(x, y);
  EXPECT_EQ(tape.gradient(sum, x).dense().item<double>(), 4);
  EXPECT_EQ(tape.gradient(sum, y).dense().item<double>(), 0);
  EXPECT_EQ(tape.gradient(product, y).dense().item<double>(), 2);
  EXPECT_EQ(product.item<double>(), 6);
}

TEST(TracedCustomGradient, AGradientThatFailsHurtsOnlyWhoAsks) {
  auto f = function([](Tensor x) {
    return custom_gradient(
        [](const Tensors& in) {
          return std::pair{Tensors{in[0] * 2}, BackwardFn([](const Tensors&) -> Tensors {
                             throw UnimplementedError("no way back");
                           })};
        },
        {x})[0];
  });
  EXPECT_EQ(f(constant(1.0)).item<double>(), 2);
  EXPECT_ERROR(gradient_of(f, constant(1.0)), InvalidArgumentError, "no way back");
}

TEST(TracedCustomGradient, RecomputeGradOnATapeOutside) {
  Variable w(constant(3.0));
  auto f = function([&](Tensor x) {
    return recompute_grad(
        [&](const Tensors& in) { return Tensors{sin(in[0]) * w.read()}; }, {x})[0];
  });
  const Tensor x = constant(0.5);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  const auto grads = tape.gradient(y, {Source(x), Source(w)});
  EXPECT_NEAR(grads[0].dense().item<double>(), 3 * std::cos(0.5), 1e-12);
  EXPECT_NEAR(grads[1].dense().item<double>(), std::sin(0.5), 1e-12);
}

TEST(TracedCustomGradient, IsStoredAndLoaded) {
  const auto graph =
      testing::trace([](const Tensors& x) { return Tensors{square_with_slope(x[0], 7)}; },
                     {constant({1.0, 2.0})});
  verify(*graph);
  EXPECT_NE(graph->dump().find("its gradient"), std::string::npos) << graph->dump();
  Graph back = from_bytes(to_bytes(*graph), {});
  EXPECT_TRUE(equal(*graph, back));
  // The loaded graph has the gradient, not only its text.
  CompiledFunction f(std::make_shared<const Graph>(std::move(back)), {});
  const Tensor x = constant({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f.call({&x, 1})[0];
  expect_close(tape.gradient(y, x).dense(), std::vector<double>{7, 14}, 1e-12);
}

}  // namespace
}  // namespace tandem
