// Passes about control flow: dead branches, dead nodes, loop invariants.
#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

TEST(DeadBranches, ConstantPredicateTakesTheBranchIn) {
  Variable v(constant(1.f));
  for (const bool yes : {true, false}) {
    const Graph g = trace({{float32, {}}}, [&](const Tensors& x) {
      return trace_if(
          constant(yes),
          [&] {
            v.assign(x[0]);
            return Tensors{x[0] * 2.f};
          },
          [&] { return Tensors{x[0] - 1.f}; });
    });
    const Graph made = remove_dead_branches(g);
    verify(made);
    EXPECT_EQ(op_list(made), yes ? "AssignVariableOp Mul" : "Sub");
    EXPECT_EQ(interpret(made, Tensors{constant(5.f)})[0].item<float>(), yes ? 10 : 4);
    EXPECT_EQ(v.read().item<float>(), 5);
  }
}

TEST(DeadBranches, CaseTakesTheLastForOthers) {
  for (const int index : {0, 1, 2, 7, -1}) {
    const Graph g = trace({{float32, {}}}, [&](const Tensors& x) {
      return trace_case(constant(index), {[&] { return Tensors{x[0] + 1.f}; },
                                          [&] { return Tensors{x[0] * 3.f}; },
                                          [&] { return Tensors{x[0] - 7.f}; }});
    });
    verify(g);
    const Graph made = remove_dead_branches(g);
    verify(made);
    EXPECT_EQ(op_list(made), index == 0 ? "AddV2" : index == 1 ? "Mul" : "Sub");
    EXPECT_EQ(interpret(made, Tensors{constant(2.f)})[0].item<float>(),
              interpret(g, Tensors{constant(2.f)})[0].item<float>());
  }
}

TEST(DeadBranches, LoopsThatNeverTurn) {
  const auto count_to = [](const Tensor& limit) {
    return [limit](const Tensors& x) {
      return trace_while([&](const Tensors& c) { return c[0] < limit; },
                         [](const Tensors& c) { return Tensors{c[0] + 1, sin(c[1])}; },
                         {constant(int32_t{3}), x[0]});
    };
  };
  const Graph never = trace({{float32, {}}}, count_to(constant(int32_t{3})));
  const Graph made = remove_dead_branches(specialize(never, infos_of({constant(1.f)})));
  verify(made);
  EXPECT_EQ(op_list(made), "");
  EXPECT_EQ(made.results()[1], (ValueRef{made.parameters()[0], 0}));
  const Graph once = trace({{float32, {}}}, count_to(constant(int32_t{4})));
  EXPECT_EQ(op_list(remove_dead_branches(specialize(once, infos_of({constant(1.f)})))),
            "While");
}

TEST(DeadBranches, ValuesThatPassThroughAreTheOperand) {
  const Graph g = trace({{bool_, {}}, {float32, {}}}, [](const Tensors& x) {
    const Tensor y = sin(x[1]);
    const Tensors r = trace_if(
        x[0], [&] { return Tensors{y, y * 2.f}; }, [&] { return Tensors{y, y}; });
    return Tensors{r[0]};
  });
  const Graph made = remove_dead_nodes(remove_dead_branches(g));
  verify(made);
  EXPECT_EQ(op_list(made), "Sin");
}

// As gradients of branches are: the second If takes what only one branch of the first
// makes, and looks at it only in the same branch.
TEST(DeadBranches, ResultsThatABranchLeavesOut) {
  const auto make = [](bool known, bool value) {
    Graph g = trace({{bool_, {}}, {float32, {}}}, [&](const Tensors& x) {
      const Tensor p = known ? constant(value) : x[0];
      const Tensors first = trace_if(
          p, [&] { return Tensors{x[1] * 2.f, sin(x[1])}; },
          [&] { return Tensors{x[1], x[1]}; });
      const Tensor saved = cos(first[1]);
      const Tensors second = trace_if(
          p, [&] { return Tensors{saved + 1.f}; }, [&] { return Tensors{x[1]}; });
      return Tensors{first[0], second[0]};
    });
    // The else branch of the first one does not make result 1.
    const auto index = static_cast<int32_t>(&find_node(g, "If") - g.nodes().data());
    Graph without = *g.node(index).subgraphs[1];
    without.results()[1] = {};
    g.node(index).subgraphs[1] = std::make_shared<const Graph>(std::move(without));
    verify(g);
    return g;
  };
  const auto run = [](const Graph& g, bool p) {
    const Tensors r = interpret(g, Tensors{constant(p), constant(0.5f)});
    return std::pair(r[0].item<float>(), r[1].item<float>());
  };
  for (const bool value : {true, false}) {
    const Graph open = make(false, value), known = make(true, value);
    const auto expected = run(open, value);
    EXPECT_EQ(run(optimize(open), value), expected);
    EXPECT_EQ(run(known, value), expected);
    const Graph made = optimize(known);
    verify(made);
    EXPECT_EQ(count_ops(made, "If"), 0) << made.dump();
    EXPECT_EQ(run(made, value), expected);
  }
}

TEST(DeadNodes, VariablesThatNobodyWritesHaveNoFinalState) {
  Variable v(constant(1.f));
  const Graph g = trace({{float32, {}}}, [&](const Tensors& x) {
    return trace_if(
        constant(false),
        [&] {
          v.assign(x[0]);
          return Tensors{x[0]};
        },
        [&] { return Tensors{v.read()}; });
  });
  EXPECT_EQ(g.final_states().size(), 1u);
  const Graph made = remove_dead_nodes(remove_dead_branches(g));
  verify(made);
  EXPECT_EQ(op_list(made), "ReadVariableOp");
  EXPECT_TRUE(made.final_states().empty());
}

TEST(DeadNodes, OnlyWhatIsAskedForStays) {
  Variable v(constant(1.f)), w(constant(1.f));
  const Graph g = trace({{float32, {}}, {float32, {}}}, [&](const Tensors& x) {
    sin(x[0]);
    w.read();
    v.assign(cos(x[1]));
    return Tensors{x[0] * 2.f};
  });
  const Graph made = remove_dead_nodes(g);
  verify(made);
  EXPECT_EQ(op_list(made), "Cos AssignVariableOp Mul");
  EXPECT_EQ(made.parameters().size(), 2u);  // the signature stays
}

TEST(DeadNodes, BranchesLoseResultsAndOperands) {
  const Graph g =
      trace({{bool_, {}}, {float32, {}}, {float32, {}}}, [](const Tensors& x) {
        return Tensors{trace_if(
            x[0], [&] { return Tensors{x[1] + 1.f, x[2] * 2.f}; },
            [&] { return Tensors{x[1], sin(x[2])}; })[0]};
      });
  EXPECT_EQ(find_node(g, "If").inputs.size(), 3u);
  const Graph made = remove_dead_nodes(g);
  verify(made);
  const Node& branch = find_node(made, "If");
  EXPECT_EQ(branch.inputs.size(), 2u);
  EXPECT_EQ(branch.outputs.size(), 1u);
  EXPECT_EQ(op_list(*branch.subgraphs[0]), "AddV2");
  EXPECT_EQ(op_list(*branch.subgraphs[1]), "");
}

TEST(DeadNodes, LoopsLoseWhatInfluencesNothing) {
  const Graph g = trace({{float32, {}}, {float32, {}}}, [](const Tensors& x) {
    // 0: the counter; 1: the result, made of 2; 3: only of itself and x[1].
    const Tensors r =
        trace_while([](const Tensors& c) { return c[0] < 5; },
                    [&](const Tensors& c) {
                      return Tensors{c[0] + 1, c[1] + c[2], c[2] * 2.f, c[3] + x[1]};
                    },
                    {constant(int32_t{0}), x[0], x[0], x[0]});
    return Tensors{r[1]};
  });
  const Graph made = remove_dead_nodes(g);
  verify(made);
  const Node& loop = find_node(made, "While");
  EXPECT_EQ(loop.carried, 3);
  EXPECT_EQ(loop.inputs.size(), 3u);
  EXPECT_EQ(op_list(*loop.subgraphs[1]), "AddV2 AddV2 Mul");
  EXPECT_EQ(interpret(made, Tensors{constant(1.f), constant(1.f)})[0].item<float>(), 32);
}

TEST(DeadNodes, UnusedControlFlowGoesAndLeavesNoOrder) {
  Graph g = trace({{bool_, {}}, {float32, {}}}, [](const Tensors& x) {
    trace_if(x[0], [&] { return Tensors{sin(x[1])}; }, [&] { return Tensors{x[1]}; });
    return trace_if(
        x[0], [&] { return Tensors{cos(x[1])}; }, [&] { return Tensors{x[1]}; });
  });
  // Nothing ordered happens in either: an order between them means nothing.
  const auto first = static_cast<int32_t>(&find_node(g, "If") - g.nodes().data());
  g.node(g.results()[0].node).after = {first};
  const Graph made = remove_dead_nodes(g);
  verify(made);
  EXPECT_EQ(op_list(made), "If");
  EXPECT_TRUE(find_node(made, "If").after.empty());
}

TEST(LoopInvariants, MoveOut) {
  Variable v(constant({2.f, 2.f}));
  const Graph g = trace({{float32, {2}}}, [&](const Tensors& x) {
    return trace_while(
        [&](const Tensors& c) { return c[0] < cast(reduce_max(x[0]), int32); },
        [&](const Tensors& c) { return Tensors{c[0] + 1, c[1] + sin(x[0]) * v.read()}; },
        {constant(int32_t{0}), x[0]});
  });
  const Graph made = hoist_loop_invariants(g);
  verify(made);
  EXPECT_EQ(op_list(made), "Max Cast ReadVariableOp Sin Mul While");
  const Node& loop = find_node(made, "While");
  EXPECT_EQ(op_list(*loop.subgraphs[0]), "Less");
  EXPECT_EQ(op_list(*loop.subgraphs[1]), "AddV2 AddV2");
  const Tensors x{constant({3.f, 1.f})};
  EXPECT_EQ(interpret(made, x)[1].to_vector<float>(),
            interpret(g, x)[1].to_vector<float>());
}

TEST(LoopInvariants, WhatMayFailOrChangesStays) {
  Variable v(constant(2.f));
  const Graph g = trace({{float32, {2}}, {int32, {1}}}, [&](const Tensors& x) {
    return trace_while([&](const Tensors& c) { return c[0] < 0; },
                       [&](const Tensors& c) {
                         v.assign_add(constant(1.f));
                         return Tensors{c[0] + 1, c[1] + gather(x[0], x[1]) * v.read()};
                       },
                       {constant(int32_t{0}), x[0]});
  });
  const Graph made = hoist_loop_invariants(g);
  verify(made);
  EXPECT_EQ(op_list(made), "While");
  // No turn, no error: index 9 is never looked up.
  EXPECT_NO_THROW(interpret(made, Tensors{constant({1.f, 1.f}), constant({9})}));
}

TEST(LoopInvariants, CarriedValuesThatNeverChange) {
  const Graph g = trace({{float32, {}}, {float32, {}}}, [](const Tensors& x) {
    const Tensors r = trace_while(
        [](const Tensors& c) { return c[0] < 3; },
        [](const Tensors& c) { return Tensors{c[0] + 1, c[1], c[2] + cos(c[1])}; },
        {constant(int32_t{0}), x[0], x[1]});
    return Tensors{r[2], r[1]};
  });
  const Graph made = hoist_loop_invariants(g);
  verify(made);
  EXPECT_EQ(op_list(made), "Cos While");
  EXPECT_EQ(find_node(made, "While").carried, 2);
  EXPECT_EQ(made.results()[1], (ValueRef{made.parameters()[0], 0}));
  EXPECT_FLOAT_EQ(interpret(made, Tensors{constant(0.f), constant(1.f)})[0].item<float>(),
                  4);
}

TEST(LoopInvariants, MoveOutOfNestedLoops) {
  const Graph g = trace({{float32, {}}}, [](const Tensors& x) {
    return trace_while(
        [](const Tensors& c) { return c[0] < 2; },
        [&](const Tensors& c) {
          const Tensors inner = trace_while(
              [](const Tensors& d) { return d[0] < 2; },
              [&](const Tensors& d) { return Tensors{d[0] + 1, d[1] + sin(x[0])}; },
              {constant(int32_t{0}), c[1]});
          return Tensors{c[0] + 1, inner[1]};
        },
        {constant(int32_t{0}), x[0]});
  });
  const Graph made = hoist_loop_invariants(g);
  verify(made);
  EXPECT_EQ(op_list(made), "Sin While");
  const Tensors x{constant(1.f)};
  EXPECT_FLOAT_EQ(interpret(made, x)[1].item<float>(), interpret(g, x)[1].item<float>());
}

}  // namespace
}  // namespace tandem::testing
