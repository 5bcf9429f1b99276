// Scopes: how they nest, and which device a constant of the moment goes to.
#include "op/placement.h"

#include <thread>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "support/alone.h"
#include "tandem/device.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

std::string current() {
  const DeviceSpec* spec = current_device_spec();
  return spec ? spec->str() : "none";
}

TEST(Scope, NestedScopesMergeAndEndInOrder) {
  EXPECT_EQ(current(), "none");
  EXPECT_EQ(scope_key(), 0u);
  {
    const DeviceScope job("/job:train");
    EXPECT_EQ(current(), "/job:train");
    {
      const DeviceScope gpu("GPU:1");
      EXPECT_EQ(current(), "/job:train/device:GPU:1");
      EXPECT_EQ(scoped_device(), nullptr);
      const DeviceScope nothing("");
      EXPECT_EQ(current(), "/job:train/device:GPU:1");
    }
    EXPECT_EQ(current(), "/job:train");
    {
      const DeviceScope none(std::nullopt);
      EXPECT_EQ(current(), "");
      EXPECT_EQ(scope_key(), 0u);
      const DeviceScope cpu("/CPU:0");
      EXPECT_EQ(scoped_device(), &Runtime::get().cpu());
    }
    EXPECT_EQ(current(), "/job:train");
  }
  EXPECT_EQ(current(), "none");
}

TEST(Scope, EqualSpecificationsHaveEqualKeys) {
  uint64_t first = 0;
  {
    const DeviceScope a("/CPU:0");
    first = scope_key();
    EXPECT_NE(first, 0u);
  }
  const DeviceScope b("cpu");
  EXPECT_NE(scope_key(), first);
  const DeviceScope c("device:CPU:0");
  EXPECT_EQ(scope_key(), first);
}

TEST(Scope, AScopeBelongsToItsThread) {
  const DeviceScope cpu("/CPU:0");
  std::string seen;
  std::thread([&seen] { seen = current(); }).join();
  EXPECT_EQ(seen, "none");
  EXPECT_EQ(current(), "/device:CPU:0");
}

TEST(Scope, BadSpecificationsThrowOnEntryAndLeaveTheOuterScope) {
  const DeviceScope cpu("/CPU:0");
  EXPECT_ERROR(DeviceScope("/foo:0"), ValueError, "Unknown attribute 'foo'");
  EXPECT_ERROR(DeviceScope("/CPU:0/GPU:0"), ValueError, "Multiple device types");
  EXPECT_ERROR(DeviceScope("/device:GPU:x"), ValueError, "invalid literal for int()");
  EXPECT_EQ(current(), "/device:CPU:0");
}

ALONE_TEST(Scope, TheIndexIsDroppedWhenTheTypeChanges, {{"TANDEM_EMULATE_GPUS", "2"}}) {
  const DeviceScope gpu("/GPU:1");
  EXPECT_EQ(scoped_device(), Runtime::get().find("GPU", 1));
  const DeviceScope cpu("CPU");
  EXPECT_EQ(scoped_device(), &Runtime::get().cpu());
}

ALONE_TEST(Scope, StrictTensorFlowKeepsTheIndex,
           {{"TANDEM_EMULATE_GPUS", "2"}, {"TANDEM_STRICT_TF", "1"}}) {
  const DeviceScope gpu("/GPU:1");
  const DeviceScope cpu("CPU");
  EXPECT_EQ(current(), "/device:CPU:1");
  EXPECT_EQ(scoped_device(), nullptr);
}

ALONE_TEST(Constants, GoWhereTheScopeSays, {{"TANDEM_EMULATE_GPUS", "2"}}) {
  EXPECT_EQ(constant(1.f).device(), "/job:localhost/replica:0/task:0/device:GPU:0");
  {
    const DeviceScope gpu("/GPU:1");
    EXPECT_EQ(constant(1.f).device(), "/job:localhost/replica:0/task:0/device:GPU:1");
    EXPECT_EQ(constant("text").device(), "/job:localhost/replica:0/task:0/device:CPU:0");
  }
  const DeviceScope cpu("/CPU:0");
  EXPECT_EQ(constant(1.f).device(), "/job:localhost/replica:0/task:0/device:CPU:0");
}

ALONE_TEST(Constants, SoftPlacementFindsAnotherDevice, {}) {
  const DeviceScope gpu("/GPU:0");
  EXPECT_EQ(constant(1.f).device(), "/job:localhost/replica:0/task:0/device:CPU:0");
  config::set_soft_device_placement(false);
  EXPECT_ERROR(
      constant(1.f), InvalidArgumentError,
      "Could not satisfy device specification "
      "'/job:localhost/replica:0/task:0/device:GPU:0'. enable_soft_placement=0.");
}

ALONE_TEST(Constants, AnotherJobIsUnknown, {}) {
  const DeviceScope worker("/job:worker");
  EXPECT_ERROR(constant(1.f), InvalidArgumentError,
               "/job:worker/replica:0/task:0/device:CPU:0 unknown device.");
}

}  // namespace
}  // namespace tandem
