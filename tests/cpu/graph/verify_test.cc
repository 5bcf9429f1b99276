// verify: every invariant, broken by hand.
#include "graph/verify.h"

#include <gtest/gtest.h>

#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

Graph two_nodes(const Variable& v) {
  return trace({{float32, {2, 3}}}, [&](const Tensors& x) {
    Variable(v).assign_add(reduce_sum(x[0]));
    return Tensors{x[0] * 2.f};
  });
}

std::string problem(const Graph& g) {
  try {
    verify(g);
  } catch (const InternalError& e) {
    return e.what();
  }
  return "none";
}

TEST(Verify, AcceptsTracedGraphs) {
  const Variable v(constant(0.f));
  EXPECT_EQ(problem(two_nodes(v)), "none");
}

TEST(Verify, OrderArityAndInference) {
  const Variable v(constant(0.f));
  Graph g = two_nodes(v);
  const int32_t mul = g.results()[0].node;
  g.node(mul).inputs[0] = {mul, 0};
  EXPECT_NE(problem(g).find("does not exist yet"), std::string::npos);
  g = two_nodes(v);
  g.node(mul).inputs[0] = {0, 3};
  EXPECT_NE(problem(g).find("output that does not exist"), std::string::npos);
  g = two_nodes(v);
  g.node(mul).inputs.pop_back();
  EXPECT_NE(problem(g).find("Mul has 1 inputs"), std::string::npos);
  g = two_nodes(v);
  g.node(mul).outputs[0].shape = {2, 4};
  EXPECT_NE(problem(g).find("inference says float32[2,3]"), std::string::npos);
  g = two_nodes(v);
  g.node(mul).outputs[0].dtype = int32;
  EXPECT_NE(problem(g).find("output 0 is int32"), std::string::npos);
  g = two_nodes(v);
  g.node(mul).name = g.node(0).name;
  EXPECT_NE(problem(g).find("name is taken"), std::string::npos);
  g = two_nodes(v);
  g.node(mul).after = {mul};
  EXPECT_NE(problem(g).find("comes after"), std::string::npos);
}

TEST(Verify, StatesAreWrittenOnce) {
  const Variable v(constant(0.f));
  Graph g = two_nodes(v);
  Node again = find_node(g, "AssignAddVariableOp");
  g.add_node(again);
  EXPECT_NE(problem(g).find("another node wrote"), std::string::npos);
  g = two_nodes(v);
  g.results()[0] = g.final_states()[0];
  EXPECT_NE(problem(g).find("a result is a state"), std::string::npos);
  g = two_nodes(v);
  const Node& write = find_node(g, "AssignAddVariableOp");
  const ValueRef state = write.inputs[0];
  g.node(g.results()[0].node).inputs[0] = state;
  EXPECT_NE(problem(g).find("is a state"), std::string::npos);
}

TEST(Verify, SubGraphsAgreeWithTheirNode) {
  const auto make = [] {
    return trace({{bool_, {}}, {float32, {}}}, [](const Tensors& x) {
      const Tensors a = trace_if(
          x[0], [&] { return Tensors{x[1]}; }, [&] { return Tensors{x[1] * 2.f}; });
      return trace_while([](const Tensors& c) { return c[0] < 3.f; },
                         [](const Tensors& c) { return Tensors{c[0] + 1.f}; }, a);
    });
  };
  EXPECT_EQ(problem(make()), "none");
  const auto index = [](const Graph& g, std::string_view word) {
    return static_cast<int32_t>(&find_node(g, word) - g.nodes().data());
  };
  Graph g = make();
  g.node(index(g, "If")).inputs.pop_back();
  EXPECT_NE(problem(g).find("parameters for 0 operands"), std::string::npos);
  g = make();
  g.node(index(g, "If")).outputs[0].dtype = int32;
  EXPECT_NE(problem(g).find("another dtype"), std::string::npos);
  g = make();
  std::swap(g.node(index(g, "While")).subgraphs[0],
            g.node(index(g, "While")).subgraphs[1]);
  EXPECT_NE(problem(g).find("one bool"), std::string::npos);
  g = make();
  g.node(0).outputs[0].shape = {0};
  EXPECT_NE(problem(g).find("predicate is no scalar"), std::string::npos);
  g = make();
  g.node(1).outputs[0].shape = {2};
  EXPECT_NE(problem(g).find("operand 0"), std::string::npos);
  g = make();
  g.node(index(g, "While")).carried = 0;
  EXPECT_NE(problem(g).find("outputs are not what is carried"), std::string::npos);
}

}  // namespace
}  // namespace tandem::testing
