// Where eager ops run: scopes, soft and hard placement, the placement log, copy policies.
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "support/alone.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

const std::string kCpu = "/job:localhost/replica:0/task:0/device:CPU:0";
const std::string kGpu = "/job:localhost/replica:0/task:0/device:GPU:0";
const std::string kGpu1 = "/job:localhost/replica:0/task:0/device:GPU:1";

const testing::Env kTwoGpus = {{"TANDEM_EMULATE_GPUS", "2"}};

Tensor on(std::string_view device, const Tensor& t) {
  const DeviceScope scope(device);
  return t + t;
}

ALONE_TEST(Placement, WithoutAScopeTheFirstGpuIsTaken, kTwoGpus) {
  const Tensor x = ones({2});
  EXPECT_EQ(x.device(), kGpu);
  EXPECT_EQ((x + x).device(), kGpu);
  EXPECT_EQ((x + x).to_vector<float>(), (std::vector<float>{2, 2}));
}

ALONE_TEST(Placement, TheScopeDecides, kTwoGpus) {
  const Tensor x = ones({2});
  EXPECT_EQ(on("/CPU:0", x).device(), kCpu);
  EXPECT_EQ(on("/GPU:1", x).device(), kGpu1);
  EXPECT_EQ(on("GPU", x).device(), kGpu);
  EXPECT_EQ(on("/job:localhost/replica:0/task:0/device:GPU:1", x).device(), kGpu1);
}

ALONE_TEST(Placement, NoneClearsTheScope, kTwoGpus) {
  const DeviceScope cpu("/CPU:0");
  const Tensor x = ones({2});
  {
    const DeviceScope none(std::nullopt);
    EXPECT_EQ((x + x).device(), kGpu);
  }
  EXPECT_EQ((x + x).device(), kCpu);
}

ALONE_TEST(Placement, ScopesAreThreadLocal, kTwoGpus) {
  const DeviceScope cpu("/CPU:0");
  const Tensor x = ones({2});
  std::string elsewhere;
  std::thread([&] {
    const DeviceScope gpu("/GPU:1");
    elsewhere = (x + x).device();
  }).join();
  EXPECT_EQ(elsewhere, kGpu1);
  EXPECT_EQ((x + x).device(), kCpu);
}

ALONE_TEST(Placement, AnAbsentIndexIsSoftlyPlacedOnTheFirstGpu, kTwoGpus) {
  EXPECT_EQ(on("/GPU:42", ones({2})).device(), kGpu);
  EXPECT_EQ(on("/device:FOO:0", ones({2})).device(), kGpu);
  // TensorFlow's rule strips type and index: what is left means any device.
  EXPECT_EQ(on("/CPU:9", ones({2})).device(), kGpu);
}

ALONE_TEST(Placement, WithoutAGpuItsOpsRunOnTheCpu, {}) {
  EXPECT_EQ(on("/GPU:0", ones({2})).device(), kCpu);
}

ALONE_TEST(Placement, HardPlacementNamesWhatIsThere, {}) {
  config::set_soft_device_placement(false);
  const Tensor x = ones({2});
  EXPECT_ERROR(on("/GPU:0", x), InvalidArgumentError,
               "Could not satisfy device specification "
               "'/job:localhost/replica:0/task:0/device:GPU:0'. enable_soft_placement=0. "
               "Supported device types [CPU]. All available devices "
               "[/job:localhost/replica:0/task:0/device:CPU:0].");
  config::set_soft_device_placement(true);
  EXPECT_EQ(on("/GPU:0", x).device(), kCpu);
}

ALONE_TEST(Placement, HardPlacementWithGpus, kTwoGpus) {
  config::set_soft_device_placement(false);
  const Tensor x = ones({2});
  EXPECT_EQ(on("/GPU:1", x).device(), kGpu1);
  EXPECT_ERROR(on("/GPU:42", x), InvalidArgumentError,
               "Supported device types [GPU, CPU]");
}

ALONE_TEST(Placement, StringsStayOnTheCpu, kTwoGpus) {
  const Tensor s = constant({"a", "b"});
  EXPECT_EQ(identity(s).device(), kCpu);
  EXPECT_EQ(on("/GPU:0", s).to_vector<std::string>(),
            (std::vector<std::string>{"aa", "bb"}));
  EXPECT_EQ(on("/GPU:0", s).device(), kCpu);
  EXPECT_ERROR(s.to("GPU:0"), InvalidArgumentError, "A string tensor cannot be copied");
  config::set_soft_device_placement(false);
  EXPECT_ERROR(on("/GPU:0", s), InvalidArgumentError, "Supported device types [CPU]");
}

ALONE_TEST(Placement, AnotherJobIsUnknownWhateverSoftPlacementSays, {}) {
  const Tensor x = ones({2});
  EXPECT_ERROR(on("/job:worker", x), InvalidArgumentError,
               "/job:worker/replica:0/task:0/device:CPU:0 unknown device.");
  EXPECT_ERROR(on("/task:3", x), InvalidArgumentError, "unknown device");
}

ALONE_TEST(Placement, ToAnAbsentDeviceIsAnError, {}) {
  EXPECT_THROW(ones({2}).to("GPU:0"), ValueError);
  EXPECT_THROW(ones({2}).to("nonsense"), ValueError);
}

ALONE_TEST(Placement, VariablesStayWhereTheyAreMade, kTwoGpus) {
  Variable v;
  {
    const DeviceScope gpu("/GPU:1");
    v = Variable(ones({2}));
  }
  EXPECT_EQ(v.device(), kGpu1);
  const DeviceScope cpu("/CPU:0");
  v.assign_add(ones({2}));
  EXPECT_EQ(v.read().device(), kGpu1);
  EXPECT_EQ(v.read().to_vector<float>(), (std::vector<float>{2, 2}));
}

std::vector<std::string> lines;

ALONE_TEST(PlacementLog, EveryOpHasALine, kTwoGpus) {
  const Tensor x = ones({2});
  logging::set_line_sink([](std::string_view line) { lines.emplace_back(line); });
  config::set_log_device_placement(true);
  on("/GPU:1", x);
  on("/CPU:0", x);
  config::set_log_device_placement(false);
  on("/CPU:0", x);
  logging::set_line_sink(nullptr);
  EXPECT_EQ(lines, (std::vector<std::string>{"Executing op AddV2 in device " + kGpu1,
                                             "Executing op AddV2 in device " + kCpu}));
}

ALONE_TEST(CopyPolicy, SilentCopiesAndCounts, kTwoGpus) {
  const Tensor x = ones({256}).to("CPU:0");
  const CopyStats before = copy_stats();
  on("/GPU:0", x).wait();
  EXPECT_EQ(copy_stats().count - before.count, 1);
  EXPECT_EQ(copy_stats().bytes - before.bytes, 1024);
}

ALONE_TEST(CopyPolicy, ExplicitRefuses, kTwoGpus) {
  const Tensor x = ones({2}).to("CPU:0");
  config::set_device_policy(CopyPolicy::kExplicit);
  EXPECT_ERROR(
      on("/GPU:0", x), InvalidArgumentError,
      "Tensors on conflicting devices: cannot compute AddV2 as input #0 was expected to "
      "be on " +
          kGpu + " but is actually on " + kCpu);
  EXPECT_EQ(on("/GPU:0", x.to("GPU:0")).to_vector<float>(), (std::vector<float>{2, 2}));
  // A shape whose contents only the device knows would have to come back for it.
  const DeviceScope gpu("/GPU:0");
  const Tensor sizes = cast(ones({1}), int32) + cast(ones({1}), int32);
  EXPECT_ERROR(reshape(ones({2}), sizes), InvalidArgumentError, "cannot compute Reshape");
  EXPECT_EQ(reshape(ones({2}), constant({2})).shape(), Shape{2});
}

ALONE_TEST(CopyPolicy, SilentForInt32AllowsOnlyThat, kTwoGpus) {
  const Tensor i = constant({1, 2}).to("CPU:0"), x = ones({2}).to("CPU:0");
  config::set_device_policy(CopyPolicy::kSilentForInt32);
  EXPECT_EQ(on("/GPU:0", i).to_vector<int>(), (std::vector<int>{2, 4}));
  EXPECT_THROW(on("/GPU:0", x), InvalidArgumentError);
}

ALONE_TEST(CopyPolicy, WarnCopiesAndSaysSo, kTwoGpus) {
  const Tensor x = ones({2}).to("CPU:0");
  config::set_device_policy(CopyPolicy::kWarn);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(on("/GPU:0", x).to_vector<float>(), (std::vector<float>{2, 2}));
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("AddV2: input #0 (float32, [2]) is copied from " + kCpu),
            std::string::npos)
      << text;
}

ALONE_TEST(CopyPolicy, BelongsToItsThread, kTwoGpus) {
  config::set_device_policy(CopyPolicy::kExplicit);
  CopyPolicy elsewhere = CopyPolicy::kExplicit;
  std::thread([&] { elsewhere = config::get_device_policy(); }).join();
  EXPECT_EQ(elsewhere, CopyPolicy::kSilent);
}

}  // namespace
}  // namespace tandem
