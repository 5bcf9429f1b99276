// Work of a GPU runs later and in order; the host waits exactly where it reads. Nothing
// here looks at a clock: what is asserted holds whoever is faster.
#include "emulated/run/gpu.h"
#include "support/alone.h"

namespace tandem {
namespace {

using testing::filled;
using testing::Floats;
using testing::floats;
using testing::on;
using testing::slowly;

TEST(Async, ALongChainIsReadInOrder) {
  const Tensor x = filled("GPU:0", {32, 32}, 1);
  const Tensor y = on("GPU:0", [&] {
    Tensor t = x;
    for (int i = 0; i < 500; ++i) t = t + x;
    return t;
  });
  EXPECT_EQ(floats(y), Floats(1024, 501));
  EXPECT_TRUE(y.ready());
}

// More than a machine word has bits.
TEST(Async, CallsWithManyInputs) {
  for (size_t n : {31, 32, 33, 65, 1000}) {
    std::vector<Tensor> all(n, filled("GPU:0", {8}, 1));
    const Tensor sum = on("GPU:0", [&] { return add_n(all); });
    const Tensor rows = on("GPU:0", [&] { return stack(all); });
    for (Tensor& t : all) t = on("GPU:0", [&] { return t + sum; });
    EXPECT_EQ(floats(sum), Floats(8, static_cast<float>(n)));
    EXPECT_EQ(floats(rows), Floats(8 * n, 1));
    EXPECT_EQ(floats(all.back()), Floats(8, static_cast<float>(n + 1)));
  }
}

TEST(Async, EveryStepOfAChainKeepsItsOwnValue) {
  const Tensor x = filled("GPU:0", {8, 8}, 1);
  std::vector<Tensor> steps{x};
  on("GPU:0", [&] {
    for (int i = 0; i < 50; ++i) steps.push_back(slowly(steps.back(), 1) + x);
    return 0;
  });
  for (size_t i = steps.size(); i-- > 0;) {
    ASSERT_EQ(floats(steps[i])[7], static_cast<float>(i + 1)) << i;
  }
}

TEST(Async, WaitReturnsWhenTheContentsAreThere) {
  const Tensor y = on("GPU:0", [] { return slowly(filled("GPU:0", {64, 64}, 3)); });
  y.wait();
  EXPECT_TRUE(y.ready());
  EXPECT_EQ(floats(y), Floats(64 * 64, 3));
}

// A copy that takes long is overtaken by the call that asked for it, never by its
// readers.
ALONE_TEST(Async, SlowCopiesAreWaitedForByWhoReadsThem,
           {{"TANDEM_EMULATE_GPUS", "2"}, {"TANDEM_EMULATED_LATENCY_US", "20000"}}) {
  const DeviceScope cpu("/CPU:0");
  const Tensor x = ones({256});
  const Tensor a = x.to("GPU:0");
  const Tensor b = a.to("GPU:1");
  const Tensor c = on("GPU:1", [&] { return b + b; });
  EXPECT_EQ(floats(c), Floats(256, 2));
  EXPECT_EQ(floats(a), Floats(256, 1));
  EXPECT_EQ(floats(x), Floats(256, 1));
}

ALONE_TEST(Async, SourcesMayGoWhileTheirCopyIsUnderWay,
           {{"TANDEM_EMULATE_GPUS", "1"}, {"TANDEM_EMULATED_LATENCY_US", "20000"}}) {
  Tensor a;
  {
    const DeviceScope cpu("/CPU:0");
    a = fill({1024}, constant(5.f)).to("GPU:0");
    // Memory of the same size would be the first to be taken for something else.
    const Tensor other = fill({1024}, constant(7.f));
  }
  EXPECT_EQ(floats(a), Floats(1024, 5));
}

ALONE_TEST(Async, ForeignMemoryIsGivenBackAfterTheCopy,
           {{"TANDEM_EMULATE_GPUS", "1"}, {"TANDEM_EMULATED_LATENCY_US", "20000"}}) {
  auto* memory = new Floats(256, 3.f);
  Tensor a;
  {
    const Tensor x = from_foreign(memory->data(), float32, {256}, [memory] {
      std::fill(memory->begin(), memory->end(), -1.f);
      delete memory;
    });
    a = x.to("GPU:0");
  }
  EXPECT_EQ(floats(a), Floats(256, 3));
}

TEST(Async, BuffersMayGoWhileWorkIsPending) {
  const int64_t before = config::get_memory_usage("GPU:0");
  {
    const DeviceScope gpu("/GPU:0");
    Tensor last;
    for (int i = 0; i < 100; ++i) {
      const Tensor x = slowly(fill({16, 16}, constant(static_cast<float>(i))), 2);
      last = x + x;
    }
    EXPECT_EQ(floats(last), Floats(256, 198));
  }
  synchronize("GPU:0");
  EXPECT_EQ(config::get_memory_usage("GPU:0"), before);
}

TEST(Async, ReshapesOfPendingWorkDoNotWaitForIt) {
  const DeviceScope gpu("/GPU:0");
  const Tensor x = slowly(fill({16, 16}, constant(2.f)));
  const Tensor flat = reshape(x, Shape{256});
  const Tensor rows = slice(x, {4, 0}, {2, 16});
  EXPECT_EQ(floats(flat + flat), Floats(256, 4));
  EXPECT_EQ(floats(rows), Floats(32, 2));
}

TEST(Async, ShapesAreKnownWithoutWaiting) {
  const DeviceScope gpu("/GPU:0");
  const CopyStats before = copy_stats();
  const Tensor x = slowly(fill({16, 8}, constant(2.f)), 0);
  const Tensor s = shape(x);
  const Tensor y =
      reshape(x, concat({slice(s, {1}, {1}), slice(s, {0}, {1})}, {.axis = 0}));
  EXPECT_EQ(y.shape(), (Shape{8, 16}));
  const int64_t copies = copy_stats().count - before.count;
  EXPECT_LE(copies, 4) << "constants go to the device; nothing comes back";
}

TEST(Async, SynchronizeWaitsForEverything) {
  const Tensor a = on("GPU:0", [] { return slowly(filled("GPU:0", {64, 64}, 1)); });
  const Tensor b = on("GPU:1", [] { return slowly(filled("GPU:1", {64, 64}, 2)); });
  synchronize();
  EXPECT_TRUE(a.ready());
  EXPECT_TRUE(b.ready());
}

TEST(Async, VariablesOnAGpuAreUpdatedInProgramOrder) {
  const DeviceScope gpu("/GPU:0");
  Variable v(zeros({256}));
  const Tensor one = ones({256});
  std::vector<Tensor> snapshots;
  for (int i = 0; i < 20; ++i) {
    v.assign_add(one);
    snapshots.push_back(v.read());
    if (i % 5 == 4) v.assign(one * static_cast<float>(i));
  }
  EXPECT_EQ(floats(snapshots[0]), Floats(256, 1));
  EXPECT_EQ(floats(snapshots[4]), Floats(256, 5));
  EXPECT_EQ(floats(snapshots[5]), Floats(256, 5));
  EXPECT_EQ(floats(v), Floats(256, 19));
}

TEST(Async, TapesWorkAcrossDevices) {
  Variable w = on("GPU:0", [] { return Variable(fill({4, 4}, constant(0.5f))); });
  const Tensor x = filled("CPU:0", {2, 4}, 1);
  GradientTape tape;
  const Tensor h = on("GPU:0", [&] { return matmul(x, w); });
  const Tensor loss = on("CPU:0", [&] { return reduce_sum(h * h); });
  const auto [dw] = tape.gradient(loss, {w});
  EXPECT_EQ(floats(dw.dense()), Floats(16, 8));
}

}  // namespace
}  // namespace tandem
