// canonical_states: which reads and assignments are left.
#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

using V = std::vector<float>;

TEST(CanonicalStates, ReadsOfOneStateBecomeOne) {
  Variable v(constant({1.f, 2.f}));
  const Graph g = trace({}, [&](const Tensors&) { return Tensors{v.read() + v.read()}; });
  EXPECT_EQ(op_list(g), "ReadVariableOp ReadVariableOp AddV2");
  const Graph made = canonical_states(g);
  verify(made);
  EXPECT_EQ(op_list(made), "ReadVariableOp AddV2");
  EXPECT_EQ(interpret(made, {})[0].to_vector<float>(), (V{2, 4}));
}

TEST(CanonicalStates, ReadAfterAssignIsTheValue) {
  Variable v(constant({1.f, 2.f}));
  const Graph g = trace({{float32, {2}}}, [&](const Tensors& x) {
    v.assign(x[0]);
    return Tensors{v.read()};
  });
  const Graph made = canonical_states(g);
  verify(made);
  EXPECT_EQ(op_list(made), "AssignVariableOp");
  EXPECT_EQ(made.results()[0], (ValueRef{made.parameters()[0], 0}));
  ASSERT_EQ(made.final_states().size(), 1u);
  EXPECT_EQ(interpret(made, Tensors{constant({5.f, 6.f})})[0].to_vector<float>(),
            (V{5, 6}));
  EXPECT_EQ(v.read().to_vector<float>(), (V{5, 6}));
}

TEST(CanonicalStates, UpdatesBecomeArithmeticAndOneAssignment) {
  Variable v(constant({1.f, 2.f}));
  const Graph g = trace({{float32, {2}}}, [&](const Tensors& x) {
    v.assign_add(x[0]);
    v.assign_sub(x[0] * x[0]);
    return Tensors{v.read()};
  });
  EXPECT_EQ(op_list(g), "AssignAddVariableOp Mul AssignSubVariableOp ReadVariableOp");
  const Graph made = canonical_states(g);
  verify(made);
  EXPECT_EQ(op_list(made), "ReadVariableOp AddV2 Mul Sub AssignVariableOp");
  EXPECT_EQ(interpret(made, Tensors{constant({3.f, 4.f})})[0].to_vector<float>(),
            (V{-5, -10}));
  EXPECT_EQ(v.read().to_vector<float>(), (V{-5, -10}));
}

TEST(CanonicalStates, AssignmentsBeforeAScatterStay) {
  Variable v(constant({1.f, 2.f, 3.f}));
  const Graph g = trace({{float32, {3}}}, [&](const Tensors& x) {
    v.assign(x[0] * x[0]);  // dead
    v.assign(x[0]);
    v.scatter_add(constant({0}), constant({10.f}));
    const Tensor between = v.read();
    v.assign_add(between);
    return Tensors{between};
  });
  const Graph made = canonical_states(g);
  verify(made);
  EXPECT_EQ(op_list(made),
            "Mul AssignVariableOp ResourceScatterAdd ReadVariableOp AddV2 "
            "AssignVariableOp");
  EXPECT_EQ(interpret(made, Tensors{constant({1.f, 1.f, 1.f})})[0].to_vector<float>(),
            (V{11, 1, 1}));
  EXPECT_EQ(v.read().to_vector<float>(), (V{22, 2, 2}));
}

TEST(CanonicalStates, GatherNeedsTheStateButReadsDoNot) {
  Variable v(constant({1.f, 2.f, 3.f}));
  const Graph g = trace({{float32, {3}}}, [&](const Tensors& x) {
    v.assign(x[0]);
    return Tensors{v.gather(constant({2})), v.read()};
  });
  const Graph made = canonical_states(g);
  verify(made);
  EXPECT_EQ(op_list(made), "AssignVariableOp ResourceGather");
  EXPECT_EQ(interpret(made, Tensors{constant({7.f, 8.f, 9.f})})[0].to_vector<float>(),
            (V{9}));
}

TEST(CanonicalStates, WorksInBranches) {
  Variable v(constant({1.f}));
  const Graph g = trace({{bool_, {}}}, [&](const Tensors& x) {
    return trace_if(
        x[0],
        [&] {
          v.assign_add(constant({1.f}));
          v.assign_add(constant({2.f}));
          return Tensors{v.read()};
        },
        [&] { return Tensors{v.read()}; });
  });
  verify(g);
  const Graph made = canonical_states(g);
  verify(made);
  EXPECT_EQ(op_list(*find_node(made, "If").subgraphs[0]),
            "ReadVariableOp AddV2 AddV2 AssignVariableOp");
  EXPECT_EQ(interpret(made, Tensors{constant(true)})[0].to_vector<float>(), (V{4}));
  EXPECT_EQ(v.read().to_vector<float>(), (V{4}));
  EXPECT_EQ(interpret(made, Tensors{constant(false)})[0].to_vector<float>(), (V{4}));
}

// The sum of an update with shapes that are not known to agree must not broadcast.
TEST(CanonicalStates, UpdatesOfUnknownShapesStay) {
  Variable v(constant({1.f, 2.f}), {.shape = Shape{kUnknownDim}});
  const Graph g = trace({{float32, {kUnknownDim}}}, [&](const Tensors& x) {
    v.assign_add(x[0]);
    return Tensors{};
  });
  EXPECT_EQ(op_list(canonical_states(g)), "AssignAddVariableOp");
  const Graph known = specialize(g, infos_of({constant({1.f, 1.f})}));
  EXPECT_EQ(op_list(canonical_states(known)), "ReadVariableOp AddV2 AssignVariableOp");
}

TEST(CanonicalStates, VariablesMayChangeTheirShape) {
  Variable v(constant({1.f, 2.f}), {.shape = Shape{kUnknownDim}});
  const Graph g = trace({}, [&](const Tensors&) {
    v.assign(constant({1.f, 2.f, 3.f}));
    v.assign(constant({4.f}));
    return Tensors{v.read()};
  });
  verify(g);
  const Graph made = canonical_states(specialize(g, {}));
  verify(made);
  EXPECT_EQ(op_list(made), "AssignVariableOp");
  EXPECT_EQ(interpret(made, {})[0].to_vector<float>(), (V{4}));
}

}  // namespace
}  // namespace tandem::testing
