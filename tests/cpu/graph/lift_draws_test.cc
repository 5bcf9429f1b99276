// lift_draws: which draws become arguments, how many blocks each takes, and that the
// function with given keys and counters computes what it did.
#include "graph/lift_draws.h"

#include <gtest/gtest.h>

#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

const Argument kVector{float32, {6}};
const Argument kAnyVector{float32, {kUnknownDim}};

Graph drawing(const Argument& argument, const std::function<Tensor(const Tensor&)>& f) {
  return trace({argument}, [&](const Tensors& x) { return Tensors{f(x[0])}; });
}

TEST(LiftDraws, OneInTwoOut) {
  const Graph g = drawing(kVector, [](const Tensor& x) {
    return x + random::uniform({6}, {.seed = 3}) * random::normal({6}, {.seed = 4});
  });
  const auto lifted = lift_draws(g);
  ASSERT_TRUE(lifted);
  verify(*lifted->graph);
  EXPECT_EQ(lifted->sequences.size(), 2);
  EXPECT_NE(lifted->sequences[0].impl(), lifted->sequences[1].impl());
  EXPECT_EQ(lifted->graph->parameters().size(), 5);
  EXPECT_EQ(lifted->known.size(), 2);
  EXPECT_FALSE(lifted->blocks);
  EXPECT_TRUE(lifted->graph->final_states().empty());
  EXPECT_TRUE(depends_on_order(g));
  EXPECT_FALSE(depends_on_order(*lifted->graph));
}

// Counting blocks needs no contents of the argument, and none of the draws.
TEST(LiftDraws, NumbersThatFollowFromShapes) {
  const Graph g = drawing(kAnyVector, [](const Tensor& x) {
    return nn::dropout(x, {.rate = 0.5, .seed = 1});
  });
  const auto lifted = lift_draws(g);
  ASSERT_TRUE(lifted);
  verify(*lifted->graph);
  ASSERT_TRUE(lifted->blocks);
  verify(*lifted->blocks);
  EXPECT_EQ(lifted->blocks->parameters().size(), 1);
  EXPECT_EQ(lifted->blocks->results().size(), 1);
  const auto blocks = [&](int64_t n) {
    return interpret(*lifted->blocks, std::vector<Tensor>{zeros({n})})[0].item<int64_t>();
  };
  EXPECT_EQ(blocks(20), 2 * blocks(10));
  EXPECT_EQ(depends_on_order(*lifted->graph), false);
}

TEST(LiftDraws, NothingWhereTheNumberIsNotKnownBefore) {
  const Graph branch = drawing(kVector, [](const Tensor& x) {
    return cond(
        reduce_sum(x) > 0.f, [] { return random::uniform({6}); }, [&] { return x; });
  });
  EXPECT_FALSE(lift_draws(branch));
  EXPECT_TRUE(depends_on_order(branch));
}

TEST(LiftDraws, NothingWithoutDraws) {
  const Graph g = drawing(kVector, [](const Tensor& x) { return x * 2.f; });
  EXPECT_FALSE(lift_draws(g));
  EXPECT_FALSE(depends_on_order(g));
}

}  // namespace
}  // namespace tandem::testing
