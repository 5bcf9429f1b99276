#include "device/cpu/cpu_device.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/recorder.h"
#include "device/copy.h"
#include "device/runtime.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem {
namespace {

TEST(Platform, NamesAndNumbers) {
  EXPECT_EQ(platform_id("host"), kHostPlatform);
  const Platform mine = platform_id("a test");
  EXPECT_NE(mine, kHostPlatform);
  EXPECT_EQ(platform_id("a test"), mine);
  EXPECT_EQ(platform_name(mine), "a test");
  EXPECT_THROW(platform_name(250), InternalError);
}

ALONE_TEST(CpuDevice, RunsInline, {}) {
  Device& cpu = Runtime::get().cpu();
  EXPECT_TRUE(cpu.is_host());
  EXPECT_FALSE(cpu.emulated());
  EXPECT_TRUE(cpu.compute().inline_execution());
  bool ran = false;
  const TimePoint point = cpu.compute().submit([&](const StreamContext& context) {
    EXPECT_EQ(context.device, &cpu);
    EXPECT_EQ(context.address_offset, 0);
    EXPECT_STREQ(context.lane, "CPU:0");
    ran = true;
  });
  EXPECT_TRUE(ran);
  EXPECT_FALSE(point);
  EXPECT_TRUE(point.passed());
  EXPECT_ERROR(cpu.compute().submit(
                   [](const StreamContext&) { throw InvalidArgumentError("bad"); }),
               InvalidArgumentError, "bad");
  EXPECT_FALSE(cpu.compute().take_error());
  synchronize();
  synchronize("CPU:0");
}

ALONE_TEST(CpuDevice, CopiesAreCountedAndRecorded, {}) {
  config::set_logical_device_configuration(config::list_physical_devices("CPU")[0],
                                           {{}, {}});
  Device& from = *Runtime::get().find("CPU", 0);
  Device& to = *Runtime::get().find("CPU", 1);
  std::vector<int> source(1 << 20), target(1 << 20);
  std::iota(source.begin(), source.end(), 0);
  const size_t bytes = source.size() * sizeof(int);
  const CopyStats before = copy_stats();
  recorder::start();
  EXPECT_TRUE(
      enqueue_copy({&to, target.data()}, {&from, source.data()}, bytes, {}).passed());
  recorder::stop();
  EXPECT_EQ(source, target);
  EXPECT_EQ(copy_stats().count, before.count + 1);
  EXPECT_EQ(copy_stats().bytes, before.bytes + static_cast<int64_t>(bytes));
  const auto events = recorder::collect();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, recorder::Kind::kCopy);
  EXPECT_STREQ(events[0].name, "H2H");
  EXPECT_STREQ(events[0].lane, "CPU:1");
}

ALONE_TEST(CpuDevice, MemoryInfoAndTrim, {}) {
  auto& allocator = Runtime::get().cpu().allocator();
  const Allocation a = allocator.allocate(1 << 20, nullptr);
  EXPECT_EQ(config::get_memory_info("CPU:0").current, 1 << 20);
  EXPECT_EQ(config::get_memory_usage("CPU:0"), 1 << 20);
  allocator.free(a, {});
  EXPECT_EQ(config::get_memory_info("CPU:0").peak, 1 << 20);
  config::reset_memory_stats("CPU:0");
  EXPECT_EQ(config::get_memory_info("CPU:0").peak, 0);
  trim_memory();
  EXPECT_EQ(allocator.trim(), 0u);
}

}  // namespace
}  // namespace tandem
