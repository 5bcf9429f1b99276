// Conditional nodes on the pretended GPU: what a graph is made of, how often its bodies
// run, and what the driver's rules about such graphs ask of the plugin.
#include "base/interrupt.h"
#include "device/conditional_work.h"
#include "gpu/fake/gpu.h"
#include "support/random_device_program.h"
#include "tandem/error.h"
#include "tandem/function.h"
#include "tandem/profile.h"
#include "tandem/record.h"

namespace tandem::testing {
namespace {

class FakeConditional : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    if (gpu && !ConditionalWork::offered_by(*gpu)) {
      GTEST_SKIP() << "the driver that is played has no conditional nodes";
    }
  }
  void TearDown() override {
    fake::answer({});
    fake::fail_launches_of("");
    fake::refuse_conditional_graphs(0);
    FakeGpuTest::TearDown();
  }
};
using Tensors = std::vector<Tensor>;

auto loop(int64_t most = -1) {
  return function([most](Tensor x) {
    return while_loop([](const Tensors& s) { return reduce_sum(s[0]) < constant(9.f); },
                      [](const Tensors& s) { return Tensors{matmul(s[0], s[0])}; }, {x},
                      {.maximum_iterations = most})[0];
  });
}

size_t products(const Lines& log) { return count(log, "kernel small_product"); }

TEST_F(FakeConditional, ALoopIsANodeOfTheOneGraph) {
  const auto f = loop();
  const Tensor x = ones({4, 4});
  f(x).wait();
  const Lines graph = fake::last_graph();
  EXPECT_EQ(count(graph, "while < tandem_repeat"), 1u) << ::testing::PrintToString(graph);
  EXPECT_EQ(count(graph, "  tandem_repeat"), 1u) << ::testing::PrintToString(graph);
  gpu->synchronize();
  fake::take_log();
  fake::answer({true, true, true, false});
  f(x).wait();
  const Lines log = fake::take_log();
  EXPECT_EQ(count(log, "graph"), 1u) << ::testing::PrintToString(log);
  EXPECT_EQ(products(log), 3u) << ::testing::PrintToString(log);
  EXPECT_EQ(count(log, "kernel tandem_repeat"), 4u);
  EXPECT_EQ(count(log, "copy to") + count(log, "copy from"), 0u);
}

// A product cannot be written over its operand: the turn ends with a copy. What is
// elementwise needs none.
TEST_F(FakeConditional, ATurnCopiesOnlyWhatItCannotComputeInPlace) {
  loop()(ones({4, 4})).wait();
  const Lines product = fake::last_graph();
  EXPECT_EQ(count(product, "  copy < small_product"), 1u)
      << ::testing::PrintToString(product);
  const auto f = function([](Tensor x) {
    return while_loop([](const Tensors& s) { return reduce_sum(s[0]) < constant(9.f); },
                      [](const Tensors& s) { return Tensors{s[0] * constant(2.f)}; },
                      {x})[0];
  });
  f(ones({4})).wait();
  const Lines elementwise = fake::last_graph();
  EXPECT_EQ(count(elementwise, "while"), 1u) << ::testing::PrintToString(elementwise);
  EXPECT_EQ(count(elementwise, "  copy"), 0u) << ::testing::PrintToString(elementwise);
  // Its argument comes in and its result goes out.
  EXPECT_EQ(count(elementwise, "copy"), 2u) << ::testing::PrintToString(elementwise);
}

TEST_F(FakeConditional, TurnsAreLimitedInEveryCall) {
  const auto f = loop(2);
  const Tensor x = ones({4, 4});
  f(x).wait();
  for (int call = 0; call < 2; ++call) {
    gpu->synchronize();
    fake::take_log();
    fake::answer({true, true, true, true});
    f(x).wait();
    EXPECT_EQ(products(fake::take_log()), 2u);
    fake::answer({});
  }
}

// Only one instance of a graph with conditional nodes may exist, also while a recording
// asks for another to learn the numbers of its nodes; and copies keep their addresses.
TEST_F(FakeConditional, ARecordingMakesTheGraphAgain) {
  const auto f = loop();
  const Tensor x = ones({4, 4}), y = ones({4, 4});
  f(x).wait();
  gpu->synchronize();
  const int made = fake::graphs_instantiated();
  start_recording();
  fake::take_log();
  fake::answer({true, false});
  f(y).wait();
  EXPECT_EQ(products(fake::take_log()), 1u);
  stop_recording();
  EXPECT_LE(fake::graphs_instantiated(), made + 1);
  fake::answer({true, true, false});
  f(x).wait();
  EXPECT_EQ(products(fake::take_log()), 2u);
}

#define NEEDS_BRANCHES()                                                              \
  if (!ConditionalWork::offered_by(*gpu, true)) {                                     \
    GTEST_SKIP() << "the driver that is played has no conditional nodes of branches"; \
  }

TEST_F(FakeConditional, ABranchIsASwitchOfTwoBodies) {
  NEEDS_BRANCHES();
  const auto f = function([](Tensor x) {
    return cond(
        reduce_sum(x) > constant(3.f), [&] { return matmul(x, x); },
        [&] { return x + constant(1.f); });
  });
  f(ones({4, 4})).wait();
  const Lines graph = fake::last_graph();
  EXPECT_EQ(count(graph, "switch < tandem_choose"), 1u)
      << ::testing::PrintToString(graph);
  EXPECT_EQ(count(graph, "  small_product"), 1u) << ::testing::PrintToString(graph);
}

// What the driver does not have is not asked of it.
using FakeOlderDriver = FakeGpuTest;
TEST_F(FakeOlderDriver, TheHostDecidesWhatTheGpuCannot) {
  const auto branch = function([](Tensor x) {
    return cond(
        reduce_sum(x) > constant(3.f), [&] { return x * 2.f; }, [&] { return x - 1.f; });
  });
  loop(3)(ones({4, 4})).wait();
  const bool loops = count(fake::last_graph(), "while") > 0;
  EXPECT_EQ(loops, ConditionalWork::offered_by(*gpu));
  branch(ones({4, 4})).wait();
  const bool branches = count(fake::last_graph(), "switch") > 0;
  EXPECT_EQ(branches, ConditionalWork::offered_by(*gpu, true));
}

// Nested as it comes; no copy inside may touch the host's memory.
TEST_F(FakeConditional, RandomProgramsCanBeRecorded) {
  int with_nodes = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Variable v(zeros({4}));
    RandomDeviceProgram program(seed, v);
    auto f = function([&](Tensor x) { return program(x); });
    EXPECT_NO_THROW(f(ones({4}))[0].wait()) << seed;
    gpu->synchronize();
    with_nodes += f.explain().find("as a conditional node") != std::string::npos;
  }
  EXPECT_GE(with_nodes, 2);
}

/// The kernel that computes the loop's predicate.
std::string test_kernel() {
  loop()(ones({4, 4})).wait();
  for (const std::string& line : fake::last_graph()) {
    if (line.starts_with("tandem_repeat < ")) return line.substr(16);
  }
  return {};
}

// A launch that fails while a loop is recorded leaves no stream capturing: the next call
// works, and records it.
TEST_F(FakeConditional, AFailedCaptureCanBeRepeated) {
  const std::string failing = test_kernel();
  const auto f = loop();
  const Tensor x = ones({4, 4});
  gpu->synchronize();
  fake::fail_launches_of(failing);
  EXPECT_THROW(f(x).wait(), Error) << failing;
  fake::fail_launches_of("");
  EXPECT_NO_THROW(gpu->synchronize());
  fake::take_log();
  fake::answer({true, false});
  f(x).wait();
  EXPECT_EQ(products(fake::take_log()), 1u);
  EXPECT_EQ(f.explain().find("cannot be recorded"), std::string::npos) << f.explain();
}

// Where the driver does not take such a graph, the host looks at the predicate, and says
// why.
TEST_F(FakeConditional, WhatCannotBeRecordedIsDecidedByTheHost) {
  const auto f = loop();
  const Tensor x = ones({4, 4});
  fake::refuse_conditional_graphs(801);  // CUDA_ERROR_NOT_SUPPORTED
  fake::take_log();
  for (int call = 0; call < 2; ++call) {
    EXPECT_NO_THROW(f(x).to_vector<float>());
    const Lines log = fake::take_log();
    EXPECT_EQ(count(log, "graph"), 0u) << ::testing::PrintToString(log);
    EXPECT_GE(count(log, "copy from the GPU 1"), 1u) << ::testing::PrintToString(log);
  }
  fake::refuse_conditional_graphs(0);
  EXPECT_NO_THROW(gpu->synchronize());
  const std::string text = f.explain();
  EXPECT_NE(text.find("the host looks at the predicates"), std::string::npos) << text;
  EXPECT_NE(text.find("making a captured step"), std::string::npos) << text;
}

// ---- Interrupts

struct Stop {};

// The wait throws; nothing of it is left for work that is given afterwards.
TEST_F(FakeConditional, AnEndlessLoopEndsWhenItIsInterrupted) {
  const auto f = loop();
  const Tensor x = ones({4, 4});
  f(x).wait();
  for (const bool read : {false, true}) {
    gpu->synchronize();
    fake::take_log();
    {
      const fake::Background background;
      const Tensor y = f(x);
      const InterruptScope scope([](void*) { throw Stop(); });
      if (read) {
        EXPECT_THROW(y.to_vector<float>(), Stop);
      } else {
        EXPECT_THROW(y.wait(), Stop);
      }
    }
    EXPECT_GT(products(fake::take_log()), 1u);
    EXPECT_NO_THROW(gpu->synchronize());
    fake::answer({true, true, false});
    f(x).wait();
    EXPECT_EQ(products(fake::take_log()), 2u);
  }
}

// A call that waits for a place in the queue ends, and so does the loop it waits for.
TEST_F(FakeConditional, WaitingForRoomBehindAnEndlessLoopIsInterrupted) {
  const auto f = loop();
  const Tensor x = ones({4, 4});
  f(x).wait();
  gpu->synchronize();
  {
    const fake::Background background;
    const Tensor y = f(x);
    const auto nothing = [](const StreamContext&) {};
    for (int i = 0; i < 600; ++i) gpu->compute().submit(nothing);
    const InterruptScope scope([](void*) { throw Stop(); });
    EXPECT_THROW(gpu->compute().make_room(), Stop);
  }
  EXPECT_NO_THROW(gpu->synchronize());
  fake::answer({true, true, false});
  fake::take_log();
  f(x).wait();
  EXPECT_EQ(products(fake::take_log()), 2u);
}

// What a kernel reports meanwhile is not lost.
TEST_F(FakeConditional, AReportOfAnInterruptedLoopIsStillThrown) {
  const auto f = loop();
  const Tensor x = ones({4, 4});
  f(x).wait();
  {
    const fake::Background background;
    const Tensor y = f(x);
    const InterruptScope scope([](void*) {
      fake::report(7);
      throw Stop();
    });
    EXPECT_THROW(y.wait(), Stop);
  }
  EXPECT_ERROR(gpu->synchronize(), InvalidArgumentError, "7");
  fake::answer({true, false});
  fake::take_log();
  f(x).wait();
  EXPECT_EQ(products(fake::take_log()), 1u);
}

}  // namespace
}  // namespace tandem::testing
