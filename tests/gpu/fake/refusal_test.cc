// What the driver refuses (a copy, a fill, a captured step) on the pretended GPU: it
// spoils what depends on it, is raised once by the next read, and leaves variables as
// they were. Kernels do nothing here, so that contents are told by copies alone.

#include "gpu/fake/gpu.h"
#include "tandem/error.h"
#include "tandem/function.h"
#include "tandem/gradient.h"

namespace tandem::testing {
namespace {

using Tensors = std::vector<Tensor>;

constexpr int kRefusal = 1;  // CUDA_ERROR_INVALID_VALUE

class FakeRefusals : public FakeGpuTest {
 protected:
  void TearDown() override {
    fake::refuse_copy(0);
    fake::refuse_graph_launches(0);
    fake::refuse_conditional_graphs(0);
    FakeGpuTest::TearDown();
  }
  /// Nothing is left to be raised.
  void expect_clean() { EXPECT_NO_THROW(gpu->synchronize()); }
};

Tensor on_host(const Floats& values) {
  return on("/CPU:0", [&] { return identity(constant(values)); });
}
Tensor on_gpu(const Floats& values) {
  return on("/GPU:0", [&] { return identity(constant(values)); });
}

TEST_F(FakeRefusals, AnEagerCopyInSpoilsWhatIsComputedFromIt) {
  const Tensor x = on_host({1, 2, 3}), good = on_gpu({1, 2, 3});
  good.wait();
  fake::refuse_copy(kRefusal);
  const Tensor bad = on("/GPU:0", [&] { return identity(x); });
  const Tensor worse = bad + good;
  EXPECT_ERROR(worse.to_vector<float>(), InternalError, "copying to the GPU");
  expect_clean();
  EXPECT_NO_THROW((good + good).to_vector<float>());
  EXPECT_NO_THROW((on("/GPU:0", [&] { return x + good; })).to_vector<float>());
}

TEST_F(FakeRefusals, AnEagerCopyOutIsRaisedByTheRead) {
  const Tensor x = on_gpu({1, 2, 3});
  x.wait();
  fake::refuse_copy(kRefusal);
  EXPECT_ERROR(x.to_vector<float>(), InternalError, "copying from the GPU");
  expect_clean();
  EXPECT_EQ(floats(x), (Floats{1, 2, 3}));
}

TEST_F(FakeRefusals, AnErrorThatNobodyReadsIsRaisedBySynchronize) {
  const Tensor x = on_host({1, 2, 3});
  fake::refuse_copy(kRefusal);
  const Tensor bad = on("/GPU:0", [&] { return identity(x); });
  EXPECT_ERROR(gpu->synchronize(), InternalError, "copying to the GPU");
  expect_clean();
}

// The first pieces are on their way when a later one is refused: they are over, and the
// page-locked blocks are back, when the copy throws.
TEST_F(FakeRefusals, ALargeCopyIsRefusedAsAWhole) {
  constexpr size_t kBytes = (9 << 20) + 5;
  std::vector<uint8_t> host(kBytes, 1);
  const Allocation a = gpu->allocator().allocate(kBytes, &gpu->copy_in());
  fake::run_at_once(false);
  for (int round = 0; round < 40; ++round) {  // more than there are blocks
    fake::refuse_copy(kRefusal, 2);
    EXPECT_THROW(gpu->copy(gpu->copy_in(), a.address, host.data(), kBytes),
                 InternalError);
    EXPECT_TRUE(gpu->copy_in().now().passed());
    fake::refuse_copy(kRefusal, 2);
    EXPECT_THROW(gpu->copy(gpu->copy_out(), host.data(), a.address, kBytes),
                 InternalError);
    EXPECT_TRUE(gpu->copy_out().now().passed());
  }
  expect_clean();
  gpu->allocator().free(a, {});
}

/// A step that takes its argument from the host and writes a variable.
struct Step {
  Variable v = on("/GPU:0", [] { return Variable(constant(Floats{5, 5, 5})); });
  TypedFunction<Tensor(Tensor)> run = function([this](Tensor x) {
    const DeviceScope scope("/GPU:0");
    const Tensor here = identity(x);
    v.assign(here);
    return here + constant(1.f);
  });
};

TEST_F(FakeRefusals, ACopyIntoACompiledCallLeavesVariablesAlone) {
  Step step;
  const Tensor before = on_host({1, 2, 3}), after = on_host({7, 8, 9});
  step.run(before).wait();
  const Floats value = floats(step.v.read());
  gpu->synchronize();
  fake::take_log();
  fake::refuse_copy(kRefusal);
  const Tensor bad = step.run(after);
  const Lines log = fake::take_log();
  EXPECT_EQ(count(log, "graph") + count(log, "kernel"), 0u)
      << ::testing::PrintToString(log);
  EXPECT_ERROR(bad.to_vector<float>(), InternalError, "copying to the GPU");
  expect_clean();
  EXPECT_EQ(floats(step.v.read()), value);
  EXPECT_NO_THROW(step.run(after).to_vector<float>());
  expect_clean();
}

TEST_F(FakeRefusals, ALaunchOfACapturedStepSpoilsItsResults) {
  Step step;
  const Tensor x = on_host({1, 2, 3});
  step.run(x).wait();
  const Floats value = floats(step.v.read());
  fake::refuse_graph_launches(kRefusal);
  const Tensor bad = step.run(on_host({7, 8, 9}));
  const Tensor worse = bad + bad;
  fake::refuse_graph_launches(0);
  EXPECT_ERROR(worse.to_vector<float>(), InternalError, "launching a captured step");
  expect_clean();
  EXPECT_EQ(floats(step.v.read()), value);
  EXPECT_NO_THROW(step.run(x).to_vector<float>());
  expect_clean();
}

// A result that the host computes from the GPU's is not made of what was there before.
TEST_F(FakeRefusals, ACopyOutOfACompiledCallIsTheCallsError) {
  const auto f = function([](Tensor x) {
    const Tensor there = on("/GPU:0", [&] { return x + constant(1.f); });
    return on("/CPU:0", [&] { return there * constant(2.f); });
  });
  const Tensor x = on_gpu({1, 2, 3});
  f(x).wait();
  gpu->synchronize();
  fake::refuse_copy(kRefusal);
  EXPECT_ERROR(f(x).to_vector<float>(), InternalError, "copying from the GPU");
  expect_clean();
  EXPECT_NO_THROW(f(x).to_vector<float>());
}

// Loops and branches whose work follows the GPU's streams while the host decides.
TEST_F(FakeRefusals, ALaunchInsideALoopOfTheHostEndsTheCall) {
  const auto f = function([](Tensor x) {
    return while_loop(
        [](const Tensors& s) { return s[0] < constant(3); },
        [](const Tensors& s) { return Tensors{s[0] + constant(1), matmul(s[1], s[1])}; },
        {constant(0), x})[1];
  });
  const Tensor x = on("/GPU:0", [] { return ones({4, 4}); });
  f(x).wait();
  fake::refuse_graph_launches(kRefusal);
  EXPECT_ERROR(f(x).to_vector<float>(), InternalError, "launching a captured step");
  fake::refuse_graph_launches(0);
  expect_clean();
  EXPECT_NO_THROW(f(x).to_vector<float>());
}

// A variable that somebody else still holds is copied before it is written.
TEST_F(FakeRefusals, ACopyOfAVariableThatIsRefusedLeavesItAlone) {
  Step step;
  const Tensor x = on_gpu({1, 2, 3});
  step.run(x).wait();
  gpu->synchronize();
  const Tensor held = step.v.read();
  const Floats value = floats(held);
  fake::refuse_copy(kRefusal);
  EXPECT_ERROR(step.run(x).to_vector<float>(), InternalError, "copying on the GPU");
  expect_clean();
  EXPECT_EQ(floats(step.v.read()), value);
  EXPECT_NO_THROW(step.run(x).to_vector<float>());
}

ALONE_TEST(FakeRefusalsAlone, SyncThrowsAtTheCall, {{"TANDEM_SYNC", "1"}}) {
  if (!real_gpu()) GTEST_SKIP() << why_no_gpu();
  const Tensor x = on_host({1, 2, 3});
  const auto f = function([](Tensor t) {
    const DeviceScope scope("/GPU:0");
    return t * constant(2.f);
  });
  f(x);
  fake::refuse_copy(kRefusal);
  EXPECT_THROW(on("/GPU:0", [&] { return identity(x); }), InternalError);
  fake::refuse_copy(kRefusal);
  EXPECT_THROW(f(x), InternalError);
  EXPECT_NO_THROW(f(x).to_vector<float>());
  EXPECT_NO_THROW(real_gpu()->synchronize());
}

}  // namespace
}  // namespace tandem::testing
