// Streams, copies and errors on the pretended GPU, whose work is done only when somebody
// waits for it: what must come before what, and who waits.
#include <cstring>

#include "device/copy.h"
#include "gpu/fake/gpu.h"
#include "tandem/error.h"
#include "tandem/profile.h"

namespace tandem::testing {
namespace {

using FakeStreams = FakeGpuTest;

TEST_F(FakeStreams, ComputeComesAfterTheCopyItReads) {
  const Tensor warm = constant(Floats{1, 2}) + 1.0f;
  warm.wait();
  fake::take_log();
  fake::run_at_once(false);
  const Tensor y = constant(Floats{3, 4}) + 1.0f;
  EXPECT_EQ(fake::take_log(), Lines{}) << "the host has waited";
  y.to_vector<float>();
  const Lines log = fake::take_log();
  size_t copied = log.size(), computed = log.size(), back = log.size();
  for (size_t i = 0; i < log.size(); ++i) {
    if (log[i] == "copy to the GPU 8") copied = i;
    if (log[i].starts_with("kernel")) computed = i;
    if (log[i] == "copy from the GPU 8") back = i;
  }
  ASSERT_LT(back, log.size()) << ::testing::PrintToString(log);
  EXPECT_LT(copied, computed);
  EXPECT_LT(computed, back);
}

// What was read of a variable is still on its way when it changes, in the same memory.
TEST_F(FakeStreams, AVariableIsWrittenAfterCopiesOfItsValue) {
  const DeviceScope scope("GPU:0");
  Variable v(constant(Floats(4, 3.f)));
  const Tensor one = constant(Floats(4, 1.f));
  const auto add = function([v](const Tensor& by) mutable {
    v.assign_add(by);
    return by;
  });
  const auto copied_first = [&](auto&& change) {
    for (int i = 0; i < 3; ++i) {
      change();
      floats(v.read());
    }
    gpu->synchronize();
    fake::take_log();
    fake::run_at_once(false);
    const Tensor held = v.read().to("CPU:0");
    change();
    gpu->compute().now().host_wait();
    const Lines log = fake::take_log();
    held.wait();
    fake::run_at_once(true);
    size_t copied = log.size();
    for (size_t i = log.size(); i-- > 0;) {
      if (log[i].starts_with("copy from")) copied = i;
    }
    size_t written = 0;
    while (written < log.size() && !log[written].starts_with("kernel")) ++written;
    EXPECT_LT(written, log.size()) << ::testing::PrintToString(log);
    return copied < written;
  };
  EXPECT_TRUE(copied_first([&] { v.assign_add(one); }));
  EXPECT_TRUE(copied_first([&] { add(one); }));
}

// Not in profiles: a kernel's time would begin while it waits for the one before it.
TEST_F(FakeStreams, KernelsAreMadeReadyEarly) {
  const Tensor x = constant(Floats{1, 2});
  const auto launches = [&] {
    const int before = fake::early_launches();
    (exp(x) + 1.0f).wait();
    return fake::early_launches() - before;
  };
  launches();
  EXPECT_EQ(launches(), 2);
  start_profile();
  EXPECT_EQ(launches(), 0);
  stop_profile();
  EXPECT_EQ(launches(), 2);
}

// Pageable memory may be used again as soon as a copy to the GPU was given; a copy back
// is there when its point has passed, in pieces larger than a page-locked block too.
TEST_F(FakeStreams, CopiesGoThroughPageLockedBlocks) {
  constexpr size_t kBytes = (9 << 20) + 5;
  std::vector<uint8_t> from(kBytes);
  for (size_t i = 0; i < kBytes; ++i) from[i] = static_cast<uint8_t>(i * 7);
  std::vector<uint8_t> wanted = from, back(kBytes);
  const Allocation a = gpu->allocator().allocate(kBytes, &gpu->copy_in());
  fake::run_at_once(false);
  const TimePoint in = gpu->copy(gpu->copy_in(), a.address, from.data(), kBytes);
  std::fill(from.begin(), from.end(), 0);
  gpu->copy_out().wait(in);
  const TimePoint out = gpu->copy(gpu->copy_out(), back.data(), a.address, kBytes);
  EXPECT_FALSE(out.passed());
  out.host_wait();
  EXPECT_TRUE(out.passed());
  EXPECT_EQ(back, wanted);
  gpu->allocator().free(a, {});
}

TEST_F(FakeStreams, APointPassesInOrderAndWaitingForItDoesNoMore) {
  fake::run_at_once(false);
  const Allocation a = gpu->allocator().allocate(64, &gpu->compute());
  std::vector<uint8_t> byte(64);
  const TimePoint first = gpu->copy(gpu->compute(), a.address, byte.data(), 16);
  first.passed();  // an event is recorded when somebody asks or waits
  gpu->copy_in().wait(first);
  const TimePoint second = gpu->copy(gpu->compute(), a.address, byte.data(), 32);
  first.host_wait();
  EXPECT_FALSE(second.passed());
  EXPECT_EQ(fake::take_log(), (Lines{"copy to the GPU 16"}));
  second.host_wait();
  EXPECT_TRUE(first.passed());
  EXPECT_EQ(fake::take_log(), (Lines{"copy to the GPU 32"}));
  gpu->allocator().free(a, {});
}

// The driver takes so many launches; one more would wait inside of it, where nothing
// interrupts. Half of the queue is left, so that the GPU has something to do.
TEST_F(FakeStreams, AQueueIsBounded) {
  fake::run_at_once(false);
  const Allocation a = gpu->allocator().allocate(64, &gpu->compute());
  const Allocation b = gpu->allocator().allocate(64, &gpu->compute());
  const auto copy = [&] { return gpu->copy(gpu->compute(), a.address, b.address, 16); };
  fake::take_log();
  const TimePoint early = copy();
  for (int i = 0; i < 99; ++i) copy();
  gpu->compute().make_room();
  EXPECT_EQ(fake::take_log(), Lines{}) << "there was room";
  for (int i = 0; i < 500; ++i) copy();
  const TimePoint last = copy();
  gpu->compute().make_room();
  const size_t done = fake::take_log().size();
  EXPECT_GE(done, 601u - 256u);
  EXPECT_LT(done, 601u - 128u);
  EXPECT_TRUE(early.passed());
  EXPECT_FALSE(last.passed());
  last.host_wait();
  gpu->allocator().free(a, {});
  gpu->allocator().free(b, {});
}

TEST_F(FakeStreams, ALaunchThatFailsPoisonsItsResultAndWhatComesOfIt) {
  const Tensor x = constant(Floats{1, 2, 3});
  (x + x).wait();
  fake::fail_next_launch(1);
  const Tensor bad = x + x;
  const Tensor worse = bad + x;
  EXPECT_THROW(worse.to_vector<float>(), InternalError);
  EXPECT_NO_THROW((x + x).to_vector<float>());
}

// What a kernel reports is thrown by the next wait, once.
TEST_F(FakeStreams, AReportIsThrownOnce) {
  const Tensor x = constant(Floats{1, 2, 3});
  (x + x).wait();
  fake::report(7);
  EXPECT_ERROR((x + x).to_vector<float>(), InvalidArgumentError, "out of range: 7");
  EXPECT_NO_THROW((x + x).to_vector<float>());
  EXPECT_NO_THROW(gpu->synchronize());
}

// A copy to the GPU is given and waited for in destructors: it does not throw.
TEST_F(FakeStreams, TheStreamOfCopiesInReportsNothing) {
  fake::report(3);
  EXPECT_NO_THROW(gpu->copy_in().now().host_wait());
  EXPECT_THROW(gpu->compute().now().host_wait(), InvalidArgumentError);
}

ALONE_TEST(FakeStreamsAlone, ALostGpuThrowsAtEveryUseAndNobodyHangs, {}) {
  if (!real_gpu()) GTEST_SKIP() << why_no_gpu();
  const Tensor x = constant(Floats{1, 2, 3});
  (x + x).wait();
  fake::run_at_once(false);
  const Tensor y = x + x;
  fake::lose_the_gpu(700);
  EXPECT_ERROR(y.to_vector<float>(), InternalError, "cannot be used any more");
  EXPECT_ERROR((x + x).to_vector<float>(), InternalError, "cannot be used any more");
  const DeviceScope cpu("/CPU:0");
  EXPECT_EQ(floats(constant(Floats{1}) + 1.0f), Floats{2});
}

// With TANDEM_SYNC=1 the op's own call throws, in a captured step the call of the step.
ALONE_TEST(FakeStreamsAlone, SyncThrowsAtTheCall, {{"TANDEM_SYNC", "1"}}) {
  if (!real_gpu()) GTEST_SKIP() << why_no_gpu();
  const Tensor x = constant(Floats{1, 2, 3});
  (x + x).wait();
  fake::report(9);
  EXPECT_THROW(x + x, InvalidArgumentError);
  EXPECT_NO_THROW(x + x);
  const auto step = function([](Tensor t) { return t * 2.0f; });
  step(x);
  fake::report(9);
  EXPECT_THROW(step(x), InvalidArgumentError);
  EXPECT_NO_THROW(step(x));
}

}  // namespace
}  // namespace tandem::testing
