// differentiate(): what is saved, how gradients cross, variables, and tapes over
// variables and watched constants in traced control flow.
#include "graph/autodiff.h"

#include <gtest/gtest.h>

#include "graph/subgraph.h"
#include "support/numeric.h"
#include "support/traced.h"
#include "tandem/control_flow.h"

namespace tandem {
namespace {

using testing::interpret_differentiated;
using testing::run_traced;
using testing::trace;
using testing::values;
using Tensors = std::vector<Tensor>;

Differentiated gradient_graph(const Graph& graph) {
  std::vector<ValueRef> wanted;
  for (int32_t p : graph.parameters()) wanted.push_back({p, 0});
  const std::vector<size_t> results = {0};
  return differentiate(graph, wanted, results);
}

int count_ops(const Graph& graph, const std::string& name) {
  int n = 0;
  for (const Node& node : graph.nodes()) n += node.is_op(name);
  return n;
}

TEST(Differentiate, SavesOnlyWhatTheGradientReads) {
  // The gradient of a sum needs shapes, which are known; that of a product, both factors.
  const auto sum = trace([](const Tensors& in) { return Tensors{in[0] + in[1]}; },
                         {constant({1.0, 2.0}), constant({3.0, 4.0})});
  EXPECT_EQ(gradient_graph(*sum).saved, 0u);
  const auto product = trace([](const Tensors& in) { return Tensors{in[0] * in[1]}; },
                             {constant({1.0, 2.0}), constant({3.0, 4.0})});
  const Differentiated d = gradient_graph(*product);
  EXPECT_EQ(d.saved, 2u);
  const Tensors got = interpret_differentiated(
      d, {constant({1.0, 2.0}), constant({3.0, 4.0})}, {constant({1.0, 10.0})});
  testing::expect_close(got[0], {3, 40});
  testing::expect_close(got[1], {1, 20});
}

TEST(Differentiate, SavesShapesWhereDimensionsAreUnknown) {
  const auto graph =
      trace([](const Tensors& in) { return Tensors{reduce_sum(in[0] + in[1])}; },
            {constant({{1.0, 2.0}}), constant({3.0, 4.0})}, true);
  const Differentiated d = gradient_graph(*graph);
  for (size_t i = 1; i < d.forward.results().size(); ++i) {
    EXPECT_TRUE(is_integer(d.forward.info(d.forward.results()[i]).dtype))
        << d.forward.dump() << d.backward.dump();
  }
  const Tensors got = interpret_differentiated(
      d, {constant({{1.0, 2.0}, {5.0, 6.0}}), constant({3.0, 4.0})}, {constant(2.0)});
  testing::expect_close(got[0], {2, 2, 2, 2});
  testing::expect_close(got[1], {4, 4});
}

TEST(Differentiate, UnconnectedParametersHaveNoGradient) {
  const auto graph =
      trace([](const Tensors& in) { return Tensors{exp(in[0]), stop_gradient(in[1])}; },
            {constant(1.0), constant(2.0)});
  const Differentiated d = gradient_graph(*graph);
  EXPECT_EQ(d.forms, (std::vector{GradientForm::kDense, GradientForm::kNone}));
  EXPECT_EQ(d.backward.results().size(), 1u);
}

TEST(Differentiate, SlicesCrossAsThreeTensors) {
  const auto graph =
      trace([](const Tensors& in) { return Tensors{gather(in[0], constant({2, 0, 2}))}; },
            {constant({1.0, 2.0, 3.0})});
  const Differentiated d = gradient_graph(*graph);
  ASSERT_EQ(d.forms[0], GradientForm::kSlices);
  const Tensors got = interpret_differentiated(d, {constant({1.0, 2.0, 3.0})},
                                               {constant({1.0, 2.0, 3.0})});
  ASSERT_EQ(got.size(), 3u);
  testing::expect_close(Gradient(IndexedSlices{got[0], got[1], got[2]}).dense(),
                        {2, 0, 4});
}

TEST(Differentiate, VariablesAreWantedByTheirState) {
  Variable v(constant({2.0, 3.0}));
  const auto graph = trace(
      [&](const Tensors& in) {
        const Tensor before = v.read() * in[0];
        v.assign(before);
        return Tensors{reduce_sum(before * v.read())};
      },
      {constant({1.0, 4.0})});
  std::vector<ValueRef> wanted;
  for (int32_t i = 0; i < graph->size(); ++i) {
    if (graph->node(i).kind == Node::Kind::kVariable) wanted.push_back({i, 0});
  }
  ASSERT_EQ(wanted.size(), 1u);
  const std::vector<size_t> results = {0};
  const Differentiated d = differentiate(*graph, wanted, results);
  // Both reads count: before·x and v (= before) each have gradient `before`.
  const Tensors got =
      interpret_differentiated(d, {constant({1.0, 4.0})}, {constant(1.0)});
  testing::expect_close(got[0], {2 * 1 + 2, 12 * 4 + 12});
}

TEST(Differentiate, CallsHaveGradientsOfTheirOwn) {
  const auto graph = trace(
      [](const Tensors& in) -> Tensors {
        Tracer& outer = *current_tracer();
        Subgraphs bodies;
        bodies.push_back(std::make_unique<Subgraph>("body", outer, nullptr));
        {
          const EmitterScope scope(&bodies[0]->tracer);
          const Tensor y = exp(in[0]) * in[1];
          bodies[0]->results = {bodies[0]->tracer.value_of(y * y)};
        }
        return {
            add_branches(outer, Node::Kind::kCall, Tensor(), bodies, "call").results[0]};
      },
      {constant(1.0), constant(2.0)});
  const Differentiated d = gradient_graph(*graph);
  const double e = std::exp(0.5);
  const Tensors got =
      interpret_differentiated(d, {constant(0.5), constant(3.0)}, {constant(2.0)});
  testing::expect_close(got[0], {2 * 2 * (e * 3) * (e * 3)});
  testing::expect_close(got[1], {2 * 2 * (e * 3) * e});
}

TEST(TracedTape, GradientsOfVariablesReadInBranchesReachThem) {
  Variable w(constant({2.0, 3.0}));
  const auto f = [&](const Tensors& in) -> Tensors {
    GradientTape tape;
    const Tensor y = cond(
        in[0], [&] { return reduce_sum(square(w.read()) * in[1]); },
        [&] { return reduce_sum(in[1]); });
    return {tape.gradient(y, w, {.unconnected = Unconnected::kZero}).dense()};
  };
  const auto graph = trace(f, {constant(true), constant({1.0, 5.0})});
  for (bool p : {true, false}) {
    const Tensors args = {constant(p), constant({1.0, 5.0})};
    testing::expect_close(interpret(*graph, args)[0], values(f(args)[0]));
  }
}

TEST(TracedTape, GradientsOfVariablesReadInLoopsReachThem) {
  Variable w(constant({0.5, 0.7}));
  const auto f = [&](const Tensors& in) -> Tensors {
    GradientTape tape;
    const Tensor y =
        while_loop([](const Tensors& v) { return less(v[0], constant(3)); },
                   [&](const Tensors& v) -> Tensors {
                     return {v[0] + constant(1), tanh(v[1] * w.read()) + w.read()};
                   },
                   {constant(0), in[0]})[1];
    return {tape.gradient(reduce_sum(y), w).dense()};
  };
  const Tensors args = {constant({0.3, 0.9})};
  testing::expect_close(run_traced(f, args)[0], values(f(args)[0]), 1e-10);
}

TEST(TracedTape, LoopsMayWriteWhatTheyRead) {
  Variable w(constant(0.5));
  const auto f = [&](const Tensors& in) -> Tensors {
    w.assign(constant(0.5));
    GradientTape tape;
    const Tensor y = while_loop([](const Tensors& v) { return less(v[0], constant(3)); },
                                [&](const Tensors& v) -> Tensors {
                                  const Tensor next = v[1] * w.read();
                                  w.assign_add(constant(0.25));
                                  return {v[0] + constant(1), next};
                                },
                                {constant(0), in[0]})[1];
    return {tape.gradient(y, w).dense(), w.read()};
  };
  const Tensors args = {constant(2.0)};
  const Tensors got = run_traced(f, args);
  // y = x·w0·w1·w2 with w = 0.5, 0.75, 1: each read counts.
  EXPECT_DOUBLE_EQ(got[0].item<double>(), 2 * (0.75 * 1 + 0.5 * 1 + 0.5 * 0.75));
  EXPECT_DOUBLE_EQ(got[1].item<double>(), 1.25);
  EXPECT_DOUBLE_EQ(f(args)[0].item<double>(), got[0].item<double>());
}

TEST(TracedTape, WatchedConstantsAreReachedInsideBranches) {
  const auto f = [](const Tensors& in) -> Tensors {
    const Tensor c = constant(3.0);
    GradientTape tape;
    tape.watch(c);
    const Tensor y = cond(in[0], [&] { return c * c; }, [&] { return c; });
    return {tape.gradient(y, c).dense()};
  };
  EXPECT_EQ(run_traced(f, {constant(true)})[0].item<double>(), 6);
  EXPECT_EQ(run_traced(f, {constant(false)})[0].item<double>(), 1);
}

TEST(TracedTape, APersistentTapeMayBeAskedTwice) {
  const auto f = [](const Tensors& in) -> Tensors {
    GradientTape tape({.persistent = true});
    tape.watch(in[0]);
    const Tensors y = while_loop([](const Tensors& v) { return less(v[0], constant(3)); },
                                 [&](const Tensors& v) -> Tensors {
                                   return {v[0] + constant(1), sin(v[1]), v[2] * v[1]};
                                 },
                                 {constant(0), in[0], in[0]});
    return {tape.gradient(y[1], in[0]).dense(), tape.gradient(y[2], in[0]).dense(),
            tape.gradient(y[2], in[0]).dense()};
  };
  const Tensors args = {constant(0.8)};
  const Tensors got = run_traced(f, args), expected = f(args);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(got[i].item<double>(), expected[i].item<double>(), 1e-12);
  }
}

TEST(TracedTape, InvariantsAreNotCollected) {
  const auto graph = trace(
      [](const Tensors& in) -> Tensors {
        GradientTape tape;
        tape.watch(in[0]);
        const Tensor y =
            while_loop([](const Tensors& v) { return less(v[0], constant(3)); },
                       [&](const Tensors& v) -> Tensors {
                         return {v[0] + constant(1), v[1] * in[1]};
                       },
                       {constant(0), in[0]})[1];
        return {tape.gradient(y, in[0]).dense()};
      },
      {constant(1.0), constant(2.0)});
  for (const Node& n : graph->nodes()) {
    for (const GraphPtr& g : n.subgraphs) {
      EXPECT_EQ(count_ops(*g, "TensorListPushBack"), 0) << graph->dump();
    }
  }
  EXPECT_EQ(
      interpret(*graph, std::vector{constant(1.0), constant(2.0)})[0].item<double>(), 8);
}

TEST(TracedTape, TapesInsideBranchesWork) {
  const auto f = [](const Tensors& in) -> Tensors {
    return {cond(
        greater(in[0], constant(0.0)),
        [&] {
          GradientTape tape;
          tape.watch(in[0]);
          const Tensor y = in[0] * in[0] * in[0];
          return tape.gradient(y, in[0]).dense();
        },
        [&] { return in[0]; })};
  };
  EXPECT_EQ(run_traced(f, {constant(2.0)})[0].item<double>(), 12);
}

TEST(TracedTape, AskingOutsideOfTheFunctionIsRefused) {
  GradientTape tape;
  Tensor x, y;
  trace(
      [&](const Tensors& in) -> Tensors {
        x = in[0];
        tape.watch(x);
        y = cond(greater(x, constant(0.0)), [&] { return x * x; }, [&] { return x; });
        return {y};
      },
      {constant(1.0)});
  const std::vector<Tensor> targets = {y};
  const std::vector<Source> sources = {x};
  EXPECT_THROW(tape.gradient(targets, sources), InvalidArgumentError);
}

}  // namespace
}  // namespace tandem
