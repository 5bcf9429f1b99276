// Random programs through specialisation, passes, plan and executor give what eager
// execution gives; on several devices too when there are some (the emulated variant).
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "run/graph_function.h"
#include "support/random_graph.h"
#include "tandem/device.h"

namespace tandem::testing {
namespace {

uint64_t first_seed() {
  const char* seed = std::getenv("TANDEM_TEST_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 1;
}

// Copies between devices take their time: fewer programs where there are several.
uint64_t programs(uint64_t many) {
  return Runtime::get().devices().size() > 1 ? many / 4 : many;
}

void check(uint64_t seed, const RandomGraphOptions& options) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomGraph program(seed, options);
  std::mt19937_64 random(seed);
  for (const bool optimize : {false, true}) {
    for (int scatter = 0; scatter < 2; ++scatter) {
      const Graph graph = scatter ? scattered(program.graph(), random) : program.graph();
      GraphFunction function(std::make_shared<const Graph>(graph),
                             {.optimize = optimize, .measure_kernels = false});
      // A second call finds the plan, and nothing of the first in it.
      for (int call = 0; call < 2; ++call) {
        const auto run = [&](const Graph&, const Tensors& arguments) {
          return function.run(arguments);
        };
        ASSERT_EQ(difference_of(program.run(graph, run), program.expected()), "")
            << "optimize " << optimize << " scatter " << scatter << " call " << call
            << "\n"
            << graph.dump() << function.explain();
      }
      EXPECT_EQ(function.plans(), 1);
    }
  }
}

TEST(PlannedGraphs, Straight) {
  for (uint64_t s = 0; s < programs(30); ++s) {
    check(first_seed() + s, {.variables = false, .control_flow = false});
    if (HasFailure()) return;
  }
}
TEST(PlannedGraphs, Variables) {
  for (uint64_t s = 0; s < programs(30); ++s) {
    check(first_seed() + 1000 + s, {.control_flow = false});
    if (HasFailure()) return;
  }
}
TEST(PlannedGraphs, ControlFlow) {
  for (uint64_t s = 0; s < programs(40); ++s) {
    check(first_seed() + 2000 + s, {});
    if (HasFailure()) return;
  }
}
TEST(PlannedGraphs, UnknownBatch) {
  for (uint64_t s = 0; s < programs(30); ++s) {
    check(first_seed() + 3000 + s, {.unknown_batch = true});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tandem::testing
