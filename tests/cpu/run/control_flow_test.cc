// cond, switch_case and while_loop: eager and traced runs agree, captures and variables
// are threaded through, and mistakes are refused in TensorFlow's words.
#include "tandem/control_flow.h"

#include <gtest/gtest.h>

#include "support/traced.h"

namespace tandem {
namespace {

using testing::run_traced;
using testing::trace;
using Tensors = std::vector<Tensor>;

Tensor square_or_negate(const Tensor& x) {
  return cond(
      greater(reduce_sum(x), scalar(0, x.dtype())), [&] { return x * x; },
      [&] { return -x; });
}

TEST(Cond, TracedAndEagerAgree) {
  const auto f = [](const Tensors& in) -> Tensors { return {square_or_negate(in[0])}; };
  const auto graph = trace(f, {constant({1.0, 2.0})});
  for (double v : {3.0, -3.0}) {
    const Tensor x = constant({v, 1.0});
    EXPECT_EQ(interpret(*graph, std::vector{x})[0].to_vector<double>(),
              square_or_negate(x).to_vector<double>());
  }
  EXPECT_EQ(graph->nodes().back().kind, Node::Kind::kIf);
}

TEST(Cond, AnEagerPredicateNeedsNoNode) {
  const auto graph = trace(
      [](const Tensors& in) -> Tensors {
        return {cond(constant(true), [&] { return in[0] + 1.0; }, [&] { return in[0]; })};
      },
      {constant(1.0)});
  for (const Node& n : graph->nodes()) EXPECT_NE(n.kind, Node::Kind::kIf);
}

TEST(Cond, ResultsOfDifferentShapesHaveUnknownDimensions) {
  const auto graph = trace(
      [](const Tensors& in) -> Tensors {
        return {cond(
            in[0], [] { return zeros({2, 3}, float32); },
            [] { return zeros({2, 5}, float32); })};
      },
      {constant(true)});
  EXPECT_EQ(graph->info(graph->results()[0]).shape.str(), "(2, None)");
}

TEST(Cond, WritesOfBothBranchesReachTheVariable) {
  Variable a(constant(1.0)), b(constant(10.0));
  const auto f = [&](const Tensors& in) -> Tensors {
    cond(
        in[0],
        [&] {
          a.assign_add(constant(5.0));
          return a.read();
        },
        [&] {
          b.assign(a.read() * 2.0);
          return b.read();
        });
    return {a.read() + b.read()};
  };
  const auto graph = trace(f, {constant(true)});
  EXPECT_EQ(interpret(*graph, std::vector{constant(true)})[0].item<double>(), 16);
  EXPECT_EQ(a.read().item<double>(), 6);
  EXPECT_EQ(b.read().item<double>(), 10);
  EXPECT_EQ(interpret(*graph, std::vector{constant(false)})[0].item<double>(), 18);
  EXPECT_EQ(b.read().item<double>(), 12);
}

TEST(Cond, NestedBranchesCaptureThroughTwoLevels) {
  const auto f = [](const Tensors& in) -> Tensors {
    const Tensor twice = in[1] * 2.0;
    return {cond(
        in[0],
        [&] {
          return cond(
              greater(in[1], constant(0.0)), [&] { return twice + in[1]; },
              [&] { return twice; });
        },
        [&] { return in[1]; })};
  };
  for (bool p : {true, false}) {
    for (double x : {2.0, -2.0}) {
      const Tensors args = {constant(p), constant(x)};
      EXPECT_EQ(run_traced(f, args)[0].item<double>(), f(args)[0].item<double>());
    }
  }
}

TEST(Cond, BranchesThatDisagreeAreRefused) {
  const auto attempt = [](const BranchFn& a, const BranchFn& b) -> std::string {
    try {
      trace([&](const Tensors& in) { return cond(in[0], a, b); }, {constant(true)});
    } catch (const TypeError& e) {
      return e.what();
    }
    return "";
  };
  const BranchFn one = [] { return Tensors{constant(1.0)}; };
  EXPECT_NE(attempt(one, [] { return Tensors{constant(1)}; })
                .find("true_fn and false_fn arguments to tf.cond must have the same "
                      "number, type, and overall structure of return values."),
            std::string::npos);
  EXPECT_NE(attempt(one, [] { return Tensors{}; }).find("same number of elements"),
            std::string::npos);
  EXPECT_NE(attempt(one, [] { return Tensors{Tensor()}; }).find("not a tensor"),
            std::string::npos);
  EXPECT_THROW(cond(constant({true, false}), one, one), ValueError);
  EXPECT_THROW(cond(constant("yes"), one, one), TypeError);
  EXPECT_EQ(cond(constant(2), one, one)[0].item<double>(), 1);
}

TEST(SwitchCase, TakesTheLastBranchOutOfRange) {
  const auto f = [](const Tensors& in) -> Tensors {
    return switch_case(
        in[0], {[&] { return Tensors{in[1]}; }, [&] { return Tensors{in[1] * 2.0}; },
                [&] { return Tensors{in[1] * 3.0}; }});
  };
  const auto graph = trace(f, {constant(0), constant(1.0)});
  for (int i : {0, 1, 2, 3, -1}) {
    const Tensors args = {constant(i), constant(5.0)};
    const double expected = i == 0 ? 5 : i == 1 ? 10 : 15;
    EXPECT_EQ(f(args)[0].item<double>(), expected);
    EXPECT_EQ(interpret(*graph, args)[0].item<double>(), expected);
  }
  EXPECT_THROW(switch_case(constant(1.0), {[] { return Tensors{}; }}), TypeError);
}

// Collatz: the number of turns depends on the data.
Tensors collatz(const Tensors& in) {
  return while_loop(
      [](const Tensors& v) { return not_equal(v[0], constant(int64_t{1})); },
      [](const Tensors& v) -> Tensors {
        const Tensor n = v[0], two = constant(int64_t{2});
        const Tensor next = cond(
            equal(floormod(n, two), constant(int64_t{0})),
            [&] { return floordiv(n, two); },
            [&] { return n * constant(int64_t{3}) + constant(int64_t{1}); });
        return {next, v[1] + constant(int64_t{1})};
      },
      {in[0], constant(int64_t{0})});
}

TEST(WhileLoop, TurnsAsOftenAsTheDataSays) {
  const auto graph = trace(collatz, {constant(int64_t{5})});
  for (int64_t n : {1, 6, 27}) {
    const int64_t turns = n == 1 ? 0 : n == 6 ? 8 : 111;
    EXPECT_EQ(collatz({constant(n)})[1].item<int64_t>(), turns);
    EXPECT_EQ(interpret(*graph, std::vector{constant(n)})[1].item<int64_t>(), turns);
  }
}

TEST(WhileLoop, StopsAtMaximumIterations) {
  const auto f = [](const Tensors& in) {
    return while_loop([](const Tensors&) { return constant(true); },
                      [](const Tensors& v) -> Tensors { return {v[0] + 1.0}; }, in,
                      {.maximum_iterations = 7});
  };
  EXPECT_EQ(f({constant(0.0)})[0].item<double>(), 7);
  EXPECT_EQ(run_traced(f, {constant(0.0)})[0].item<double>(), 7);
}

TEST(WhileLoop, VariablesReadAndWrittenInTheBodyAreCarried) {
  Variable total(constant(0.0)), step(constant(2.0));
  const auto f = [&](const Tensors& in) {
    return while_loop([&](const Tensors& v) { return less(total.read(), v[1]); },
                      [&](const Tensors& v) -> Tensors {
                        total.assign_add(step.read());
                        return {v[0] + total.read(), v[1]};
                      },
                      {constant(0.0), in[0]});
  };
  const auto graph = trace(f, {constant(1.0)});
  EXPECT_EQ(interpret(*graph, std::vector{constant(7.0)})[0].item<double>(), 20);
  EXPECT_EQ(total.read().item<double>(), 8);
  total.assign(constant(0.0));
  EXPECT_EQ(f({constant(7.0)})[0].item<double>(), 20);
}

TEST(WhileLoop, NestedLoopsAgreeWithEager) {
  const auto f = [](const Tensors& in) -> Tensors {
    return while_loop([](const Tensors& v) { return less(v[0], constant(3)); },
                      [&](const Tensors& outer) -> Tensors {
                        const Tensors inner = while_loop(
                            [&](const Tensors& v) { return less(v[0], outer[0]); },
                            [&](const Tensors& v) -> Tensors {
                              return {v[0] + constant(1),
                                      v[1] * in[0] + cast(outer[0], {float64})};
                            },
                            {constant(0), outer[1]});
                        return {outer[0] + constant(1), inner[1] + 1.0};
                      },
                      {constant(0), in[0]});
  };
  const Tensors args = {constant(1.5)};
  EXPECT_DOUBLE_EQ(run_traced(f, args)[1].item<double>(), f(args)[1].item<double>());
}

TEST(WhileLoop, ShapesMayGrowUnderAnInvariant) {
  const auto f = [](const Tensors& in) {
    return while_loop(
        [](const Tensors& v) { return less(size(v[0]), constant(6)); },
        [](const Tensors& v) -> Tensors { return {concat({v[0], v[0]}, {.axis = 0})}; },
        in, {.shape_invariants = {Shape{kUnknownDim}}});
  };
  EXPECT_EQ(run_traced(f, {constant({1.0, 2.0})})[0].num_elements(), 8);
  EXPECT_EQ(f({constant({1.0, 2.0})})[0].num_elements(), 8);
}

TEST(WhileLoop, LoopVariablesThatChangeAreRefused) {
  const auto attempt = [](const LoopBodyFn& body, const WhileOptions& options) {
    std::string message;
    try {
      trace(
          [&](const Tensors& in) {
            return while_loop([](const Tensors&) { return constant(true); }, body, in,
                              options);
          },
          {constant({1.0, 2.0})});
    } catch (const InvalidArgumentError& e) {
      message = e.what();
    }
    return message;
  };
  const LoopBodyFn to_int = [](const Tensors& v) -> Tensors {
    return {cast(v[0], {int32})};
  };
  const LoopBodyFn grow = [](const Tensors& v) -> Tensors {
    return {concat({v[0], v[0]}, {.axis = 0})};
  };
  EXPECT_NE(attempt(to_int, {})
                .find("enters the loop with type float64 but has type "
                      "int32 after 1 iteration"),
            std::string::npos);
  EXPECT_NE(attempt(grow, {}).find("enters the loop with shape (2,), but has shape (4,) "
                                   "after one iteration"),
            std::string::npos);
  EXPECT_NE(attempt([](const Tensors&) { return Tensors{}; }, {}).find("same number"),
            std::string::npos);
  EXPECT_NE(attempt(grow, {.shape_invariants = {Shape{5}}})
                .find("shape invariant specified for loop variable 0 is not compatible"),
            std::string::npos);
  EXPECT_THROW(while_loop([](const Tensors&) { return constant(true); }, grow, {}),
               ValueError);
}

TEST(WhileLoop, AConditionMayNotWrite) {
  Variable v(constant(0.0));
  EXPECT_THROW(trace(
                   [&](const Tensors& in) {
                     return while_loop(
                         [&](const Tensors& x) {
                           v.assign_add(x[0]);
                           return less(v.read(), constant(3.0));
                         },
                         [](const Tensors& x) { return x; }, in);
                   },
                   {constant(1.0)}),
               UnimplementedError);
}

}  // namespace
}  // namespace tandem
