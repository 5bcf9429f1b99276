// specialize: concrete shapes through ops, branches and loops.
#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

constexpr int64_t kAny = kUnknownDim;

Shape result_shape(const Graph& g, size_t k = 0) { return g.info(g.results()[k]).shape; }

TEST(Specialize, ShapesAndTheirValuesBecomeKnown) {
  const Graph g = trace({{float32, {kAny, 4}}}, [](const Tensors& x) {
    const Tensor rows = slice(shape(x[0]), {0}, {1});
    return Tensors{reshape(x[0], concat({rows, constant({2, 2})}, {0}))};
  });
  EXPECT_EQ(result_shape(g), (Shape{kAny, 2, 2}));
  const Graph made = specialize(g, infos_of({zeros({5, 4}, float32)}));
  verify(made);
  EXPECT_EQ(result_shape(made), (Shape{5, 2, 2}));
  EXPECT_EQ(find_node(made, "ConcatV2").outputs[0].value, (Ints{5, 2, 2}));
}

TEST(Specialize, KnownValuesOfParameters) {
  const Graph g = trace({{float32, {kAny}}, {int32, {2}}},
                        [](const Tensors& x) { return Tensors{reshape(x[0], x[1])}; });
  std::vector<TensorInfo> infos = infos_of({zeros({6}, float32), constant({2, 3})});
  EXPECT_EQ(result_shape(specialize(g, infos)), (Shape{kAny, kAny}));
  infos[1].value = {2, 3};
  infos[1].has_value = true;
  EXPECT_EQ(result_shape(specialize(g, infos)), (Shape{2, 3}));
}

TEST(Specialize, RefusesOtherArguments) {
  const Graph g = trace({{float32, {kAny, 4}}}, [](const Tensors& x) { return x; });
  EXPECT_THROW(specialize(g, infos_of({zeros({2, 3}, float32)})), InvalidArgumentError);
  EXPECT_THROW(specialize(g, infos_of({zeros({2, 4}, int32)})), InvalidArgumentError);
  EXPECT_THROW(specialize(g, {}), InvalidArgumentError);
}

TEST(Specialize, BranchesAreMerged) {
  const Graph g = trace({{bool_, {}}, {float32, {kAny, kAny}}}, [](const Tensors& x) {
    return trace_if(
        x[0], [&] { return Tensors{x[1], x[1]}; },
        [&] { return Tensors{x[1] + 1.f, concat({x[1], x[1]}, {0})}; });
  });
  const Graph made = specialize(g, infos_of({constant(true), zeros({2, 3}, float32)}));
  verify(made);
  EXPECT_EQ(result_shape(made, 0), (Shape{2, 3}));
  EXPECT_EQ(result_shape(made, 1), (Shape{kAny, 3}));
}

// A branch guarded by a condition on shapes may not fit them.
TEST(Specialize, UntakenBranchMayNotFit) {
  const Graph g = trace({{float32, {kAny}}}, [](const Tensors& x) {
    const Tensor six = equal(squeeze(shape(x[0])), constant(6));
    return trace_if(
        six, [&] { return Tensors{reduce_sum(reshape(x[0], {2, 3}))}; },
        [&] { return Tensors{reduce_sum(x[0])}; });
  });
  const Graph made = specialize(g, infos_of({zeros({5}, float32)}));
  verify(made);
  EXPECT_EQ(result_shape(made), Shape{});
  EXPECT_EQ(interpret(made, Tensors{ones({5}, float32)})[0].item<float>(), 5);
  EXPECT_EQ(op_list(optimize(made)), "Sum");
}

// What runs has the operands' shapes everywhere; who takes the branch gets its error.
TEST(Specialize, ABranchThatDoesNotFitFailsWhenTaken) {
  Variable v(constant(0.f));
  const Graph g = trace({{bool_, {}}, {float32, {kAny}}}, [&](const Tensors& x) {
    return trace_if(
        x[0],
        [&] {
          v.assign(reduce_sum(x[1]));
          return Tensors{reshape(x[1], {2, 3})};
        },
        [&] { return Tensors{zeros({2, 3}, float32)}; });
  });
  const Graph made = specialize(g, infos_of({constant(true), zeros({5}, float32)}));
  verify(made);
  EXPECT_EQ(result_shape(made), (Shape{2, 3}));
  const Graph& branch = *find_node(made, "If").subgraphs[0];
  EXPECT_EQ(branch.node(branch.parameters()[0]).outputs[0].shape, (Shape{5}));
  const Graph optimized = optimize(made);
  for (const Graph* graph : {&made, &optimized}) {
    const Tensor x = ones({5}, float32);
    EXPECT_EQ(interpret(*graph, Tensors{constant(false), x})[0].shape(), (Shape{2, 3}));
    EXPECT_THROW(interpret(*graph, Tensors{constant(true), x}), InvalidArgumentError);
    EXPECT_EQ(v.read().item<float>(), 0.f);
  }
}

TEST(Specialize, ChoosersAreScalars) {
  const Graph g = trace({{bool_, Shape::unknown()}, {float32, {}}}, [](const Tensors& x) {
    return trace_if(x[0], [&] { return Tensors{x[1]}; }, [&] { return Tensors{-x[1]}; });
  });
  for (const Tensor& chooser : {zeros({0}, bool_), zeros({3}, bool_)}) {
    EXPECT_THROW(specialize(g, infos_of({chooser, constant(1.f)})), InvalidArgumentError);
    EXPECT_THROW(interpret(g, Tensors{chooser, constant(1.f)}), InvalidArgumentError);
  }
}

TEST(Specialize, LoopShapesReachAFixPoint) {
  const Graph g = trace({{float32, {kAny, kAny}}}, [](const Tensors& x) {
    return trace_while([](const Tensors& c) { return c[0] < 3; },
                       [&](const Tensors& c) {
                         return Tensors{c[0] + 1, concat({c[1], x[0]}, {0}), tanh(c[2])};
                       },
                       {constant(int32_t{0}), x[0], x[0]});
  });
  const Tensor x = ones({2, 3}, float32);
  const Graph made = specialize(g, infos_of({x}));
  verify(made);
  EXPECT_EQ(result_shape(made, 1), (Shape{kAny, 3}));  // grows
  EXPECT_EQ(result_shape(made, 2), (Shape{2, 3}));     // does not
  const Node& loop = find_node(made, "While");
  EXPECT_FALSE(loop.outputs[0].has_value);  // 0 only in the first turn
  const Graph& body = *loop.subgraphs[1];
  EXPECT_EQ(body.node(body.parameters()[1]).outputs[0].shape, (Shape{kAny, 3}));
  EXPECT_EQ(interpret(made, Tensors{x})[1].shape(), (Shape{8, 3}));
}

TEST(Specialize, PresentShapesOfVariables) {
  Variable v(zeros({2, 3}, float32), {.shape = Shape{kAny, 3}});
  const Graph g = trace({}, [&](const Tensors&) { return Tensors{v.read() + 1.f}; });
  EXPECT_EQ(result_shape(g), (Shape{kAny, 3}));
  EXPECT_EQ(result_shape(specialize(g, {})), (Shape{2, 3}));
  const VariableShapes shapes = {{v.handle().impl()->id, Shape{7, 3}}};
  EXPECT_EQ(result_shape(specialize(g, {}, &shapes)), (Shape{7, 3}));
}

}  // namespace
}  // namespace tandem::testing
