// Random programs: each pass alone, all but each, and all together give what eager
// execution gives, and so does the interpreter.
#include "support/random_graph.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "graph/equal.h"
#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"

namespace tandem::testing {
namespace {

uint64_t first_seed() {
  const char* seed = std::getenv("TANDEM_TEST_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 1;
}

Tensors reference(const Graph& graph, const Tensors& arguments) {
  return interpret(graph, arguments);
}

PassOptions all_but(bool PassOptions::* pass) {
  PassOptions options;
  if (pass) options.*pass = false;
  return options;
}

PassOptions only(bool PassOptions::* pass) {
  PassOptions options{false, false, false, false, false, false, false, false, false};
  options.*pass = true;
  return options;
}

constexpr bool PassOptions::* kPasses[] = {&PassOptions::inline_calls,
                                           &PassOptions::canonical_states,
                                           &PassOptions::fold_constants,
                                           &PassOptions::remove_dead_branches,
                                           &PassOptions::simplify,
                                           &PassOptions::merge_common,
                                           &PassOptions::hoist_loop_invariants,
                                           &PassOptions::remove_dead_nodes,
                                           &PassOptions::layout};

void check(RandomGraph& program, const Graph& graph, PassOptions options,
           const std::string& what) {
  const auto run_node = [](const Node& n, std::span<const Tensor> inputs) {
    return interpret_node(n, inputs);
  };
  const Evaluate evaluate = run_node;
  options.evaluate = &evaluate;
  const Graph made = optimize(graph, options);
  verify(made);
  EXPECT_EQ(difference_of(program.run(made, reference), program.expected()), "")
      << what << "\nbefore:\n"
      << graph.dump() << "after:\n"
      << made.dump();
}

void check_all(uint64_t seed, const RandomGraphOptions& options) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomGraph program(seed, options);
  verify(program.graph());
  ASSERT_EQ(difference_of(program.run(program.graph(), reference), program.expected()),
            "")
      << program.graph().dump();
  const Graph known = specialize(program.graph(), infos_of(program.arguments()));
  verify(known);
  for (size_t k = 0; k < std::size(kPasses); ++k) {
    check(program, known, only(kPasses[k]), "only pass " + std::to_string(k));
    check(program, known, all_but(kPasses[k]), "all but pass " + std::to_string(k));
    if (::testing::Test::HasFailure()) return;
  }
  check(program, known, {}, "all passes");
  check(program, program.graph(), {}, "all passes, not specialised");
}

TEST(RandomGraphs, Straight) {
  for (uint64_t s = 0; s < 30; ++s) {
    check_all(first_seed() + s, {.variables = false, .control_flow = false});
    if (HasFailure()) return;
  }
}
TEST(RandomGraphs, Variables) {
  for (uint64_t s = 0; s < 30; ++s) {
    check_all(first_seed() + 1000 + s, {.control_flow = false});
    if (HasFailure()) return;
  }
}
TEST(RandomGraphs, ControlFlow) {
  for (uint64_t s = 0; s < 40; ++s) {
    check_all(first_seed() + 2000 + s, {});
    if (HasFailure()) return;
  }
}
TEST(RandomGraphs, UnknownBatch) {
  for (uint64_t s = 0; s < 40; ++s) {
    check_all(first_seed() + 3000 + s, {.unknown_batch = true});
    if (HasFailure()) return;
  }
}

// The passes find the work that the generator leaves for them.
TEST(RandomGraphs, PassesShrinkPrograms) {
  RandomGraph program(first_seed(), {.steps = 60});
  const Graph known = specialize(program.graph(), infos_of(program.arguments()));
  PassTrace trace;
  const Graph made = optimize(known, {}, &trace);
  EXPECT_LT(made.count(true), known.count(true) / 2) << trace.text();
  EXPECT_NE(trace.text().find("simplify"), std::string::npos);
  // What one pass leaves the next one gets.
  int64_t nodes = known.count(true);
  for (const PassTrace::Entry& e : trace.entries) {
    EXPECT_EQ(e.nodes_before, nodes) << e.pass;
    nodes = e.nodes_after;
  }
  EXPECT_EQ(nodes, made.count(true));
}

// Passes that find nothing to do change nothing, not even names.
TEST(RandomGraphs, OptimisingTwiceChangesNothing) {
  for (uint64_t s = 0; s < 10; ++s) {
    RandomGraph program(first_seed() + 4000 + s);
    const Graph known = specialize(program.graph(), infos_of(program.arguments()));
    const Graph once = optimize(known, {.max_rounds = 20});
    const Graph twice = optimize(once, {.max_rounds = 20});
    EXPECT_TRUE(equal(once, twice)) << once.dump() << twice.dump();
  }
}

}  // namespace
}  // namespace tandem::testing
