// fold_constants, merge_common and inline_calls.
#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

Graph fold(const Graph& g) {
  const auto run = [](const Node& n, std::span<const Tensor> inputs) {
    return interpret_node(n, inputs);
  };
  const Evaluate evaluate = run;
  Graph made = fold_constants(g, &evaluate);
  verify(made);
  return made;
}

const Tensor& result_constant(const Graph& g, size_t k = 0) {
  const Node& n = g.node(g.results()[k].node);
  EXPECT_EQ(n.kind, Node::Kind::kConstant) << g.dump();
  return n.constant;
}

TEST(FoldConstants, RunsOpsOnConstants) {
  const Graph g = trace({}, [](const Tensors&) {
    return Tensors{sqrt(constant({4.f, 9.f})) + constant(1.f)};
  });
  const Graph made = fold(g);
  EXPECT_EQ(op_list(made), "");
  EXPECT_EQ(result_constant(made).to_vector<float>(), (std::vector<float>{3, 4}));
}

TEST(FoldConstants, WithoutAnEvaluatorOnlyWhatInferenceKnows) {
  const Graph g = trace({{float32, {2, 3}}}, [](const Tensors& x) {
    return Tensors{shape(x[0]), size(x[0]), rank(x[0]), shape(x[0]) * 2,
                   sqrt(constant(4.f))};
  });
  const Graph made = fold_constants(g, nullptr);
  verify(made);
  EXPECT_EQ(op_list(made), "Sqrt");
  EXPECT_EQ(result_constant(made, 0).to_vector<int32_t>(), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(result_constant(made, 1).item<int32_t>(), 6);
  EXPECT_EQ(result_constant(made, 2).item<int32_t>(), 2);
  EXPECT_EQ(result_constant(made, 3).to_vector<int32_t>(), (std::vector<int32_t>{4, 6}));
}

TEST(FoldConstants, UnknownDimensionsStay) {
  const Graph g = trace({{float32, {kUnknownDim, 3}}},
                        [](const Tensors& x) { return Tensors{shape(x[0])}; });
  EXPECT_EQ(op_list(fold(g)), "Shape");
}

TEST(FoldConstants, LargeResultsOfSmallInputsStay) {
  const Graph g = trace({}, [](const Tensors&) {
    return Tensors{fill({8}, constant(2.f)), fill({100000}, constant(2.f))};
  });
  const Graph made = fold(g);
  EXPECT_EQ(op_list(made), "Fill");
  EXPECT_EQ(result_constant(made).to_vector<float>(), std::vector<float>(8, 2.f));
}

TEST(FoldConstants, ErrorsComeAtTheCall) {
  const Graph g = trace({}, [](const Tensors&) {
    return Tensors{gather(constant({1.f, 2.f}), constant({5}))};
  });
  const Graph made = fold(g);
  EXPECT_EQ(op_list(made), "GatherV2");
  EXPECT_THROW(interpret(made, {}), InvalidArgumentError);
}

TEST(FoldConstants, ConstantOperandsGoIntoBranchesAndInvariants) {
  const Graph g = trace({{bool_, {}}, {float32, {}}}, [](const Tensors& x) {
    const Tensor two = identity(constant(2.f)) * constant(1.f);
    const Tensors a = trace_if(
        x[0], [&] { return Tensors{sqrt(two) * x[1]}; }, [&] { return Tensors{x[1]}; });
    const Tensors b =
        trace_while([&](const Tensors& c) { return c[0] < two * two; },
                    [&](const Tensors& c) { return Tensors{c[0] + 1.f}; }, {x[1]});
    return Tensors{a[0], b[0]};
  });
  const Graph made = fold(g);
  EXPECT_EQ(op_list(*find_node(made, "If").subgraphs[0]), "Mul");
  EXPECT_EQ(op_list(*find_node(made, "While").subgraphs[0]), "Less");
  const Graph clean = remove_dead_nodes(made);
  verify(clean);
  EXPECT_EQ(find_node(clean, "If").inputs.size(), 2u);     // predicate, x
  EXPECT_EQ(find_node(clean, "While").inputs.size(), 1u);  // what is carried
  const Tensors results = interpret(clean, Tensors{constant(true), constant(1.f)});
  EXPECT_FLOAT_EQ(results[0].item<float>(), 1.41421356f);
  EXPECT_EQ(results[1].item<float>(), 4);
}

TEST(MergeCommon, EqualNodesBecomeOne) {
  const Graph g = trace({{float32, {2}}, {float32, {2}}}, [](const Tensors& x) {
    const Tensor a = x[0] + x[1], b = x[1] + x[0], c = x[0] - x[1], d = x[1] - x[0];
    return Tensors{a * b, c * d};
  });
  const Graph made = merge_common(g);
  verify(made);
  EXPECT_EQ(op_list(made), "AddV2 Sub Sub Mul Mul");
}

TEST(MergeCommon, ConstantsByContentsAttributesByValue) {
  const Graph g = trace({{float32, {2, 2}}}, [](const Tensors& x) {
    return Tensors{x[0] + constant({1.f, 2.f}),     x[0] + constant({1.f, 2.f}),
                   x[0] + constant({1.f, 3.f}),     reduce_sum(x[0], {.axis = {0}}),
                   reduce_sum(x[0], {.axis = {1}}), reduce_sum(x[0], {.axis = {0}})};
  });
  const Graph made = merge_common(g);
  verify(made);
  EXPECT_EQ(op_list(made), "AddV2 AddV2 Sum Sum");
  EXPECT_EQ(made.results()[0], made.results()[1]);
  EXPECT_EQ(made.results()[3], made.results()[5]);
}

TEST(MergeCommon, RandomOpsOfOneKeyAndWritesStay) {
  Variable v(constant({1.f}));
  const Graph g = trace({}, [&](const Tensors&) {
    const Tensor a = random::stateless_uniform({2}, random::Seed2{1, 2});
    const Tensor b = random::stateless_uniform({2}, random::Seed2{1, 2});
    const Tensor c = random::stateless_uniform({2}, random::Seed2{1, 3});
    v.assign_add(constant({1.f}));
    v.assign_add(constant({1.f}));
    return Tensors{a, b, c};
  });
  const Graph made = merge_common(g);
  verify(made);
  EXPECT_EQ(made.results()[0], made.results()[1]);
  EXPECT_NE(made.results()[0], made.results()[2]);
  EXPECT_EQ(count_ops(made, "AssignAddVariableOp"), 2);
}

TEST(InlineCalls, BodiesTakeThePlaceOfCalls) {
  Variable v(constant(1.f));
  const Graph g = trace({{float32, {}}}, [&](const Tensors& x) {
    const Function inner = [&](const Tensors& y) {
      v.assign_add(y[0]);
      return Tensors{y[0] * 2.f};
    };
    const Function outer = [&](const Tensors& y) {
      return trace_call(inner, {y[0] + 1.f});
    };
    return trace_call(outer, x);
  });
  verify(g);
  EXPECT_EQ(op_list(g), "Call");
  const Graph made = inline_calls(g);
  verify(made);
  EXPECT_EQ(op_list(made), "AddV2 AssignAddVariableOp Mul");
  EXPECT_EQ(find_node(made, "Mul").name, "call/call/Mul");
  EXPECT_EQ(interpret(made, Tensors{constant(3.f)})[0].item<float>(), 8);
  EXPECT_EQ(v.read().item<float>(), 5);
}

}  // namespace
}  // namespace tandem::testing
