// The XSpace message: lines, names, values and nesting as TensorBoard's profile plugin
// reads them. tests/python/test_profile_pages.py has a whole fit.
#include <gtest/gtest.h>

#include "base/recorder.h"
#include "base/recording_source.h"
#include "support/alone.h"
#include "support/xspace_reader.h"
#include "tandem/data.h"
#include "tandem/device.h"
#include "tandem/function.h"
#include "tandem/ops.h"
#include "tandem/profile.h"

namespace tandem {
namespace {

using testing::read_space;
using testing::SpaceEvent;
using testing::SpacePlane;

TEST(Xspace, AStepIsARootThatHoldsItsOps) {
  const auto step = function([](Tensor x) { return matmul(x, x); });
  const Tensor x = ones({8, 8});
  step(x);
  start_profile();
  {
    const ProfileMark mark("train", {{"step_num", "3"}, {"loss", "0.5"}});
    step(x);
    add(x, x);
  }
  const Profile profile = stop_profile();
  const SpacePlane host = read_space(profile.xspace()).at("/host:CPU");
  ASSERT_EQ(host.lines.size(), 1u);
  const SpaceEvent mark = host.named("train").at(0);
  EXPECT_EQ(mark.values.at("step_num"), "3");
  EXPECT_EQ(mark.values.at("_r"), "1");
  EXPECT_EQ(mark.values.at("loss"), "0.5");
  size_t ops = 0;
  for (const SpaceEvent& e : host.lines.begin()->second) {
    if (e.name == "AddV2:AddV2" || e.name.ends_with("/MatMul:MatMul")) {
      ++ops;
      EXPECT_TRUE(mark.holds(e)) << e.name;
    }
  }
  EXPECT_EQ(ops, 2u);
  const ProfileSummary summary = profile.summary();
  ASSERT_EQ(summary.steps.size(), 1u);
  EXPECT_EQ(summary.steps[0].number, 3);
  EXPECT_DOUBLE_EQ(summary.steps[0].seconds,
                   static_cast<double>(mark.end - mark.begin) * 1e-9);
  EXPECT_EQ(summary.steps[0].input_seconds, 0);
  EXPECT_EQ(summary.ops.size(), 2u);
}

TEST(Xspace, StagesHaveTheirPathWithinTheWaitOfTheConsumer) {
  const auto batches =
      data::range(0, 6)
          .map([](std::span<const Tensor> e) { return data::Element{e[0] + e[0]}; })
          .batch({.batch_size = 3});
  start_profile();
  for (const data::Element& batch : batches) EXPECT_EQ(batch[0].num_elements(), 3);
  const Profile profile = stop_profile();
  const SpacePlane host = read_space(profile.xspace()).at("/host:CPU");
  const auto waits = host.named("IteratorGetNextOp::DoCompute");
  const auto first = host.named("Iterator::Root::Batch");
  ASSERT_EQ(waits.size(), 3u);  // the last finds nothing
  ASSERT_EQ(first.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(waits[i].holds(first[i]));
  EXPECT_EQ(host.named("Iterator::Root::Batch::Map::Range").size(), 7u);
  for (const ProfileSummary::Stage& s : profile.summary().stages) {
    EXPECT_EQ(static_cast<size_t>(s.elements), host.named(s.path).size());
    EXPECT_LE(s.self_seconds, s.seconds);
  }
}

ALONE_TEST(Xspace, WorkOfADeviceHasTheNumberOfItsLaunch, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  Tensor x;
  {
    const DeviceScope cpu("/CPU:0");
    x = ones({64, 64});
  }
  start_profile();
  {
    const ProfileMark mark("train", {{"step_num", "0"}});
    const DeviceScope gpu("/GPU:0");
    matmul(x, x);  // nobody waits: stopping does
  }
  const Profile profile = stop_profile();
  const auto space = read_space(profile.xspace());
  const SpacePlane& host = space.at("/host:CPU");
  const SpacePlane& gpu = space.at("/device:GPU:0");
  EXPECT_EQ(gpu.values.at("device_vendor"), "emulated");
  EXPECT_TRUE(gpu.lines.contains("Stream #1(Compute)"));
  EXPECT_TRUE(gpu.lines.contains("Stream #2(MemcpyHToD)"));
  const SpaceEvent kernel = gpu.named("MatMul").at(0);
  EXPECT_EQ(kernel.values.at("tf_op"), "MatMul:MatMul");
  EXPECT_TRUE(kernel.values.contains("kernel_details"));
  const SpaceEvent copy = gpu.named("MemcpyHToD").at(0);
  EXPECT_TRUE(copy.values.at("memcpy_details").starts_with("num_bytes:16384\n"));
  const SpaceEvent mark = host.named("train").at(0);
  for (const SpaceEvent* work : {&kernel, &copy}) {
    size_t launches = 0;
    for (const SpaceEvent& l : host.named("launch")) {
      const auto number = l.values.find("correlation_id");
      if (number == l.values.end()) continue;
      if (number->second != work->values.at("correlation_id")) continue;
      ++launches;
      EXPECT_TRUE(mark.holds(l));
      EXPECT_LE(l.begin, work->begin);
    }
    EXPECT_EQ(launches, 1u) << work->name;
  }
  const ProfileSummary::Step step = profile.summary().steps.at(0);
  EXPECT_DOUBLE_EQ(step.seconds, static_cast<double>(kernel.end - copy.begin) * 1e-9);
  EXPECT_DOUBLE_EQ(step.input_seconds, static_cast<double>(copy.end - copy.begin) * 1e-9);
}

TEST(Xspace, AllocationsSayWhatIsInUse) {
  start_profile();
  {
    const Tensor x = ones({1000, 100});
  }
  const Profile profile = stop_profile();
  const SpacePlane host = read_space(profile.xspace()).at("/host:CPU");
  const auto of = [](const SpaceEvent& e, const char* name) {
    return std::stoll(e.values.at(name));
  };
  const auto large = [&](const char* name) {
    for (const SpaceEvent& e : host.named(name)) {
      if (of(e, "allocation_bytes") >= 400000) return e;
    }
    return SpaceEvent{};
  };
  const SpaceEvent made = large("MemoryAllocation"), ended = large("MemoryDeallocation");
  ASSERT_FALSE(made.name.empty());
  ASSERT_FALSE(ended.name.empty());
  EXPECT_EQ(made.values.at("allocator_name"), "CPU:0");
  EXPECT_EQ(of(made, "addr"), of(ended, "addr"));
  // Small blocks come and go between the two.
  EXPECT_NEAR(of(made, "bytes_allocated") - of(ended, "bytes_allocated"),
              of(made, "allocation_bytes"), 4096);
  EXPECT_GE(of(made, "peak_bytes_in_use"), of(made, "bytes_allocated"));
  EXPECT_GT(of(made, "bytes_available"), 0);
}

// What a device says itself: the kernel's name, its op and its node, and its launch.
TEST(Xspace, KernelsOfADeviceThatReportsHaveDetails) {
  struct Pretended final : recorder::Source {
    void start() override { at = recorder::now_ns(); }
    std::string stop() override {
      if (!at) return {};
      using recorder::Kind;
      const auto number = recorder::next_launch();
      recorder::record(Kind::kLaunch, "launch MatMul", "NPU", at, at + 5, 0, nullptr,
                       {.number = number});
      recorder::record(Kind::kActivity, "MatMul", "NPU:0/compute", at + 10, at + 20, 0,
                       "op=MatMul\nkernel=gemm<float>\nnode=block/MatMul float32[2,2]\n"
                       "source=a.py:3\ngrid=8,1,1\nblock=128,1,1\nregisters=32\n"
                       "shared=1024\n",
                       {.number = number});
      recorder::record(Kind::kActivity, "copy to the GPU", "NPU:0/copy_in", at + 1,
                       at + 4, 64, "");
      return {};
    }
    int64_t at = 0;
  };
  static Pretended source;
  recorder::add_source(&source);
  start_profile();
  const Profile profile = stop_profile();
  source.at = 0;  // silent from now on
  const auto space = read_space(profile.xspace());
  const SpacePlane& device = space.at("/device:NPU:0");
  const SpaceEvent kernel = device.named("gemm<float>").at(0);
  EXPECT_EQ(kernel.values.at("tf_op"), "block/MatMul:MatMul");
  EXPECT_EQ(kernel.values.at("kernel_details"),
            "grid:8,1,1 block:128,1,1 regs:32 static_shared:1024");
  EXPECT_EQ(kernel.values.at("source"), "a.py:3");
  const SpaceEvent launch = space.at("/host:CPU").named("launch MatMul").at(0);
  EXPECT_EQ(launch.values.at("correlation_id"), kernel.values.at("correlation_id"));
  EXPECT_EQ(device.named("MemcpyHToD").at(0).values.at("memcpy_details"),
            "num_bytes:64\nasync:1");
}

}  // namespace
}  // namespace tandem
