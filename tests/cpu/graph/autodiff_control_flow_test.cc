// Gradients through traced control flow: of first and second order, forward mode, and by
// differentiate() on the finished graph, against the same program run eagerly and against
// differences.
#include <string>

#include <gtest/gtest.h>

#include "graph/autodiff.h"
#include "graph/passes/passes.h"
#include "support/numeric.h"
#include "support/traced.h"
#include "tandem/control_flow.h"
#include "tandem/function.h"

namespace tandem {
namespace {

using testing::Function;
using testing::interpret_differentiated;
using testing::run_traced;
using testing::sample;
using testing::trace;
using testing::values;
using Tensors = std::vector<Tensor>;

Tensor positive(const Tensor& x) { return greater(reduce_sum(x), constant(0.0)); }

// x ← f(x) so many times.
Tensor repeat(const Tensor& x, int turns, const Function& f) {
  return while_loop(
      [turns](const Tensors& v) { return less(v[0], constant(turns)); },
      [&f](const Tensors& v) -> Tensors { return {v[0] + constant(1), f(v[1])}; },
      {constant(0), x})[1];
}

struct Program {
  std::string name;
  Function f;
};

std::vector<Program> programs() {
  return {
      {"cond",
       [](const Tensor& x) {
         return cond(
             positive(x), [&] { return exp(x) * x; }, [&] { return sin(x) * sin(x); });
       }},
      {"cond_one_branch_is_constant",
       [](const Tensor& x) {
         return x * cond(
                        positive(x), [&] { return exp(x); },
                        [&] { return constant({2.0, 3.0, 4.0}); });
       }},
      {"cond_uses_an_outer_intermediate",
       [](const Tensor& x) {
         const Tensor y = tanh(x);
         return cond(positive(x), [&] { return y * x; }, [&] { return y * y; }) + y;
       }},
      {"nested_cond",
       [](const Tensor& x) {
         return cond(
             positive(x),
             [&] {
               return cond(
                   greater(reduce_max(x), constant(0.5)), [&] { return exp(x) * x; },
                   [&] { return square(x); });
             },
             [&] { return sin(x); });
       }},
      {"switch_case",
       [](const Tensor& x) {
         const Tensor index = cast(floor(reduce_sum(x)), {int32});
         return switch_case(index, {[&] { return Tensors{exp(x)}; },
                                    [&] { return Tensors{square(x) * x}; },
                                    [&] { return Tensors{cos(x)}; }})[0];
       }},
      {"while",
       [](const Tensor& x) {
         return repeat(x, 3, [](const Tensor& y) { return sin(y) * y; });
       }},
      {"while_without_turns",
       [](const Tensor& x) {
         return square(repeat(x, 0, [](const Tensor& y) { return sin(y); }));
       }},
      {"while_with_an_invariant",
       [](const Tensor& x) {
         const Tensor w = exp(x);
         return repeat(x, 3, [&](const Tensor& y) { return tanh(y * w) + x; });
       }},
      {"while_linear",
       [](const Tensor& x) {
         return repeat(square(x), 4, [](const Tensor& y) { return y * 2.0 + 1.0; });
       }},
      {"while_of_data_dependent_length",
       [](const Tensor& x) {
         return while_loop(
             [](const Tensors& v) { return less(reduce_sum(v[0]), constant(20.0)); },
             [&](const Tensors& v) -> Tensors {
               return {v[0] * v[0] + exp(x), v[1] + sin(v[0])};
             },
             {x + 1.5, x})[1];
       }},
      {"nested_while",
       [](const Tensor& x) {
         return repeat(x, 2, [&](const Tensor& y) {
           return repeat(y, 2, [&](const Tensor& z) { return sin(z) * x + y; });
         });
       }},
      {"cond_in_while",
       [](const Tensor& x) {
         return repeat(x, 4, [&](const Tensor& y) {
           return cond(
               positive(y), [&] { return y - exp(x) * 0.5; },
               [&] { return sin(y) * y + 1.0; });
         });
       }},
      {"while_in_cond",
       [](const Tensor& x) {
         return cond(
             positive(x),
             [&] { return repeat(x, 2, [&](const Tensor& y) { return y * sin(x); }); },
             [&] { return repeat(x, 3, [&](const Tensor& y) { return y * cos(y); }); });
       }},
      {"while_that_forgets",
       [](const Tensor& x) {
         return while_loop([](const Tensors& v) { return less(v[0], constant(2)); },
                           [&](const Tensors& v) -> Tensors {
                             return {v[0] + constant(1), exp(x), v[2] + v[1]};
                           },
                           {constant(0), x, x * x})[2];
       }},
      {"gather_in_while",
       [](const Tensor& x) {
         return while_loop([](const Tensors& v) { return less(v[0], constant(3)); },
                           [&](const Tensors& v) -> Tensors {
                             return {v[0] + constant(1),
                                     v[1] * gather(x, v[0]) + gather(x, v[0])};
                           },
                           {constant(0), constant(1.0)})[1];
       }},
  };
}

Tensors points() {
  return {constant({0.3, 0.4, 0.2}), constant({-0.3, -0.6, 0.1}),
          constant({0.9, 0.2, 0.35})};
}

// d sum(sin(f)) / dx, by a tape.
Tensor gradient_of(const Function& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = reduce_sum(sin(f(x)));
  return tape.gradient(y, x, {.unconnected = Unconnected::kZero}).dense();
}

class ControlFlowGradient : public ::testing::TestWithParam<Program> {};

TEST_P(ControlFlowGradient, TracedTapeAgreesWithEager) {
  const Function f = GetParam().f;
  for (const bool open : {false, true}) {
    const auto graph =
        trace([&](const Tensors& in) { return Tensors{f(in[0]), gradient_of(f, in[0])}; },
              {points()[0]}, open);
    for (const Tensor& x : points()) {
      for (const Graph& g : {*graph, testing::optimized(*graph, {x})}) {
        const Tensors got = interpret(g, std::vector{x});
        testing::expect_close(got[0], values(f(x)), 1e-12);
        testing::expect_close(got[1], values(gradient_of(f, x)), 1e-10);
        if (::testing::Test::HasFailure()) FAIL() << graph->dump() << g.dump();
      }
    }
  }
}

TEST_P(ControlFlowGradient, EagerAgreesWithDifferences) {
  const Function f = GetParam().f;
  const Function loss = [&](const Tensor& x) { return reduce_sum(sin(f(x))); };
  for (const Tensor& x : points()) {
    testing::expect_close(gradient_of(f, x), testing::numeric_jacobian(loss, x), 1e-5);
  }
}

TEST_P(ControlFlowGradient, SecondOrder) {
  const Function f = GetParam().f;
  const Function first = [&](const Tensor& x) { return gradient_of(f, x); };
  const Function second = [&](const Tensor& x) { return gradient_of(first, x); };
  const auto graph =
      trace([&](const Tensors& in) { return Tensors{second(in[0])}; }, {points()[0]});
  for (const Tensor& x : points()) {
    for (const Graph& g : {*graph, testing::optimized(*graph, {x})}) {
      testing::expect_close(interpret(g, std::vector{x})[0], values(second(x)), 1e-9);
      if (::testing::Test::HasFailure()) FAIL() << graph->dump() << g.dump();
    }
  }
}

TEST_P(ControlFlowGradient, PassesKeepWhatTheGradientGives) {
  const Function f = GetParam().f;
  const Function first = [&](const Tensor& x) { return gradient_of(f, x); };
  const auto graph = trace(
      [&](const Tensors& in) {
        return Tensors{gradient_of(f, in[0]), gradient_of(first, in[0])};
      },
      {points()[0]});
  const Graph optimized = optimize(*graph);
  EXPECT_LE(optimized.count(true), graph->count(true));
  for (const Tensor& x : points()) {
    const Tensors expected = interpret(*graph, std::vector{x});
    const Tensors got = interpret(optimized, std::vector{x});
    for (size_t i = 0; i < 2; ++i) {
      testing::expect_close(got[i], values(expected[i]), 1e-12);
    }
    if (::testing::Test::HasFailure()) FAIL() << optimized.dump();
  }
}

// Values, first and second derivatives of the same programs as compiled functions: traced
// into the function, and by tapes around its call.
TEST_P(ControlFlowGradient, Compiled) {
  const Function f = GetParam().f;
  const Function first = [&](const Tensor& x) { return gradient_of(f, x); };
  for (const bool open : {false, true}) {
    FunctionOptions options;
    if (open) options.input_signature = {{{.shape = {kUnknownDim}, .dtype = float64}}};
    const auto inside = function(
        [&](Tensor x) {
          return std::tuple{f(x), gradient_of(f, x), gradient_of(first, x)};
        },
        options);
    const auto called = function([&](Tensor x) { return f(x); }, options);
    const Function call = [&](const Tensor& x) { return called(x); };
    const Function call_gradient = [&](const Tensor& x) { return gradient_of(call, x); };
    for (const Tensor& x : points()) {
      for (int again = 0; again < 2; ++again) {
        const auto [value, gradient, second] = inside(x);
        testing::expect_close(value, values(f(x)), 1e-12);
        testing::expect_close(gradient, values(gradient_of(f, x)), 1e-10);
        testing::expect_close(second, values(gradient_of(first, x)), 1e-9);
        testing::expect_close(called(x), values(f(x)), 1e-12);
        testing::expect_close(call_gradient(x), values(gradient_of(f, x)), 1e-10);
        testing::expect_close(gradient_of(call_gradient, x),
                              values(gradient_of(first, x)), 1e-9);
        if (::testing::Test::HasFailure()) FAIL() << inside.explain();
      }
    }
  }
}

TEST_P(ControlFlowGradient, ForwardMode) {
  const Function f = GetParam().f;
  const Tensor direction = constant({0.5, -1.0, 2.0});
  const auto jvp = [&](const Tensors& in) -> Tensors {
    ForwardAccumulator accumulator({in[0]}, {direction});
    return {accumulator.jvp(f(in[0]), Unconnected::kZero)};
  };
  const auto graph = trace(jvp, {points()[0]});
  for (const Tensor& x : points()) {
    const Tensor got = interpret(*graph, std::vector{x})[0];
    testing::expect_close(got, values(jvp({x})[0]), 1e-10);
    testing::expect_close(got, testing::numeric_directional(f, x, direction), 1e-5);
    if (::testing::Test::HasFailure()) FAIL() << graph->dump();
  }
}

TEST_P(ControlFlowGradient, OfTheFinishedGraph) {
  const Function f = GetParam().f;
  for (const bool open : {false, true}) {
    const auto graph =
        trace([&](const Tensors& in) { return Tensors{reduce_sum(sin(f(in[0])))}; },
              {points()[0]}, open);
    const std::vector<ValueRef> wanted = {{graph->parameters()[0], 0}};
    const std::vector<size_t> results = {0};
    const Differentiated d = differentiate(*graph, wanted, results);
    for (const Tensor& x : points()) {
      for (const bool passes : {false, true}) {
        const Tensors got = interpret_differentiated(d, {x}, {constant(1.0)}, passes);
        testing::expect_close(got[0], values(gradient_of(f, x)), 1e-10);
        if (::testing::Test::HasFailure()) {
          FAIL() << "passes: " << passes << d.forward.dump() << d.backward.dump();
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, ControlFlowGradient, ::testing::ValuesIn(programs()),
                         [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace tandem
