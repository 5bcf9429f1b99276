// Random programs, with variables, branches and loops: fused and taken apart again they
// give what eager execution gave.
#include "fusion_testing.h"
#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/random_graph.h"

namespace tandem {
namespace {

using namespace testing;

Tensors interpret_all(const Graph& graph, const Tensors& arguments) {
  return interpret(graph, arguments);
}

class FusionRandom : public ::testing::TestWithParam<int> {};

TEST_P(FusionRandom, GivesTheSame) {
  int fused = 0, multi = 0;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    RandomGraph program(seed * 8 + static_cast<uint64_t>(GetParam()), {.steps = 40});
    const Graph start = specialize(program.graph(), infos_of(program.arguments()));
    for (bool optimized : {false, true}) {
      const FusionTarget target = cpu_fusion_target();
      const Graph before = optimized ? optimize(start) : start;
      const Graph vertical = fuse_elementwise(fuse_epilogue(before), target);
      verify(vertical);
      const Graph both = fuse_horizontal(vertical, target);
      verify(both);
      fused += count_ops(vertical, "Fused");
      multi += count_ops(both, "FusedMulti");
      EXPECT_LE(count_kernels(both), count_kernels(before));
      // Taken apart again, and with the fused kernels.
      const Graph apart = unfused(both);
      for (const Graph* g : {&apart, &both}) {
        const Tensors got = program.run(*g, interpret_all);
        EXPECT_EQ(difference_of(got, program.expected()), "")
            << "seed " << seed << (optimized ? " optimized\n" : "\n") << before.dump()
            << g->dump();
      }
      if (HasFailure()) return;
    }
  }
  // The programs are rich enough to test something.
  EXPECT_GT(fused, 25);
  EXPECT_GT(multi, 5);
}
INSTANTIATE_TEST_SUITE_P(Seeds, FusionRandom, ::testing::Range(0, 4));

}  // namespace
}  // namespace tandem
