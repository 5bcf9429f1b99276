// TensorFlow's configuration rules. Each test has a process of its own, since devices are
// made once.
#include <thread>

#include <gtest/gtest.h>

#include "base/core_set.h"
#include "device/runtime.h"
#include "support/alone.h"
#include "tandem/device.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using namespace config;  // NOLINT: the functions under test

PhysicalDevice cpu() { return list_physical_devices("CPU").at(0); }
PhysicalDevice gpu(size_t i) { return list_physical_devices("GPU").at(i); }
void init() { list_logical_devices(); }

std::vector<LogicalDeviceConfiguration> limits(std::initializer_list<double> mib) {
  std::vector<LogicalDeviceConfiguration> result;
  for (double limit : mib) result.push_back({.memory_limit = limit, .priority = {}});
  return result;
}

const PhysicalDevice kAbsent{"/physical_device:GPU:9", "GPU"};
constexpr const char* kUnrecognized =
    "Unrecognized device: PhysicalDevice(name='/physical_device:GPU:9', "
    "device_type='GPU')";

ALONE_TEST(Config, ACpuIsAlwaysThere, {}) {
  const auto all = list_physical_devices();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0], (PhysicalDevice{"/physical_device:CPU:0", "CPU"}));
  EXPECT_TRUE(list_physical_devices("GPU").empty());
  EXPECT_FALSE(Runtime::get().initialized());
  EXPECT_EQ(list_logical_devices(),
            (std::vector<LogicalDevice>{{"/device:CPU:0", "CPU"}}));
  EXPECT_TRUE(Runtime::get().initialized());
  EXPECT_EQ(device_list(), "/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(Runtime::get().cpu().team()->threads(), available_cores().size());
  EXPECT_FALSE(get_device_details(cpu()).emulated);
  EXPECT_FALSE(Runtime::get().absence_reasons().empty());
}

ALONE_TEST(Config, EmulatedGpusAreListed, {{"TANDEM_EMULATE_GPUS", "2"}}) {
  EXPECT_EQ(list_physical_devices().size(), 3u);
  EXPECT_EQ(gpu(1).name, "/physical_device:GPU:1");
  EXPECT_TRUE(get_device_details(gpu(1)).emulated);
  EXPECT_EQ(device_count("GPU"), 2);
  EXPECT_EQ(device_count("CPU"), 1);
  auto& runtime = Runtime::get();
  EXPECT_EQ(runtime.devices()[0]->short_name(), "CPU:0");
  EXPECT_EQ(runtime.by_priority()[0]->short_name(), "GPU:0");
  EXPECT_EQ(runtime.by_priority()[2]->short_name(), "CPU:0");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(runtime.devices()[static_cast<size_t>(i)]->ordinal(), i);
  EXPECT_EQ(runtime.find("GPU", 1)->full_name(),
            "/job:localhost/replica:0/task:0/device:GPU:1");
  EXPECT_EQ(runtime.find("GPU", 2), nullptr);
}

ALONE_TEST(Config, ABadNumberOfGpusIsAValueError, {{"TANDEM_EMULATE_GPUS", "many"}}) {
  EXPECT_ERROR(list_physical_devices(), ValueError, "TANDEM_EMULATE_GPUS=many");
  EXPECT_ERROR(init(), ValueError, "TANDEM_EMULATE_GPUS=many");
  setenv("TANDEM_EMULATE_GPUS", "1", 1);
  EXPECT_EQ(device_count("GPU"), 1);  // nothing was lost
}

ALONE_TEST(Config, VisibleDevices, {{"TANDEM_EMULATE_GPUS", "2"}}) {
  EXPECT_EQ(get_visible_devices().size(), 3u);
  EXPECT_ERROR(set_visible_devices({kAbsent}), ValueError, kUnrecognized);
  EXPECT_ERROR(set_visible_devices({cpu()}, "GPU"), ValueError, "Unrecognized device: ");
  set_visible_devices({gpu(1)}, "GPU");
  EXPECT_EQ(get_visible_devices(), (std::vector<PhysicalDevice>{cpu(), gpu(1)}));
  init();
  EXPECT_EQ(device_count("GPU"), 1);
  set_visible_devices({gpu(1)}, "GPU");  // the same again
  EXPECT_ERROR(set_visible_devices({gpu(0)}, "GPU"), RuntimeStateError,
               "Visible devices cannot be modified after being initialized");
  EXPECT_ERROR(set_visible_devices({kAbsent}), ValueError, kUnrecognized);
  EXPECT_EQ(get_visible_devices("GPU"), (std::vector<PhysicalDevice>{gpu(1)}));
}

ALONE_TEST(Config, OnlyTheCpuVisible, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  set_visible_devices({cpu()});
  EXPECT_EQ(device_count("GPU"), 0);
  EXPECT_EQ(Runtime::get().cpu().team()->threads(), available_cores().size());
}

ALONE_TEST(Config, TheCpuRunsEvenWhenHidden, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  set_visible_devices({}, "CPU");
  EXPECT_TRUE(get_visible_devices("CPU").empty());
  EXPECT_EQ(Runtime::get().cpu().short_name(), "CPU:0");
}

ALONE_TEST(Config, MemoryGrowth, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  EXPECT_EQ(get_memory_growth(gpu(0)), std::nullopt);
  EXPECT_ERROR(set_memory_growth(kAbsent, true), ValueError, kUnrecognized);
  EXPECT_ERROR(get_memory_growth(kAbsent), ValueError, kUnrecognized);
  EXPECT_ERROR(set_memory_growth(cpu(), true), ValueError,
               "Cannot set memory growth on non-GPU and non-Pluggable devices");
  set_memory_growth(gpu(0), true);
  init();
  set_memory_growth(gpu(0), true);
  EXPECT_ERROR(set_memory_growth(gpu(0), false), RuntimeStateError,
               "Physical devices cannot be modified after being initialized");
  EXPECT_EQ(get_memory_growth(gpu(0)), true);
}

ALONE_TEST(Config, MemoryGrowthMustBeTheSame, {{"TANDEM_EMULATE_GPUS", "2"}}) {
  set_memory_growth(gpu(0), true);
  EXPECT_ERROR(init(), ValueError, "Memory growth cannot differ between GPU devices");
  EXPECT_FALSE(Runtime::get().initialized());
  set_memory_growth(gpu(1), true);  // not too late: nothing was initialised
  EXPECT_EQ(device_count("GPU"), 2);
}

ALONE_TEST(Config, MemoryGrowthOfHiddenDevicesIsFree, {{"TANDEM_EMULATE_GPUS", "2"}}) {
  set_memory_growth(gpu(0), true);
  set_visible_devices({gpu(0)}, "GPU");
  EXPECT_EQ(device_count("GPU"), 1);
}

ALONE_TEST(Config, LogicalDevices, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  EXPECT_EQ(get_logical_device_configuration(gpu(0)), std::nullopt);
  EXPECT_ERROR(set_logical_device_configuration(kAbsent, limits({10})), ValueError,
               kUnrecognized);
  EXPECT_ERROR(set_logical_device_configuration(gpu(0), {{}}), ValueError,
               "Setting memory limit is required for GPU virtual devices");
  EXPECT_ERROR(set_logical_device_configuration(gpu(0), limits({-1})), ValueError,
               "memory_limit");
  EXPECT_ERROR(
      set_logical_device_configuration(cpu(), {{.memory_limit = {}, .priority = 1}}),
      ValueError,
      "Setting experimental_priority on CPU virtual devices is currently not supported");
  set_logical_device_configuration(gpu(0), limits({10, 10}));
  EXPECT_EQ(device_count("GPU"), 2);
  EXPECT_EQ(get_memory_info("GPU:1").limit, 10 << 20);
  set_logical_device_configuration(gpu(0), limits({10, 10}));
  constexpr const char* kLate =
      "Virtual devices cannot be modified after being initialized";
  EXPECT_ERROR(set_logical_device_configuration(gpu(0), limits({20, 20})),
               RuntimeStateError, kLate);
  EXPECT_ERROR(set_logical_device_configuration(gpu(0), limits({10, 10, 10})),
               RuntimeStateError, kLate);
  EXPECT_EQ(get_logical_device_configuration(gpu(0)), limits({10, 10}));
}

ALONE_TEST(Config, PrioritiesMustBeComplete, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  set_logical_device_configuration(gpu(0), {{.memory_limit = 10, .priority = 1},
                                            {.memory_limit = 10, .priority = {}}});
  EXPECT_ERROR(init(), ValueError, "priority must be specified for all virtual devices");
}

ALONE_TEST(Config, GrowthAndLimitTogether, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  set_logical_device_configuration(gpu(0), limits({10}));
  set_memory_growth(gpu(0), true);
  init();
  EXPECT_EQ(get_memory_growth(gpu(0)), true);
  EXPECT_EQ(get_memory_info("GPU:0").limit, 10 << 20);
}

ALONE_TEST(Config, StrictRefusesGrowthWithLimit,
           {{"TANDEM_EMULATE_GPUS", "1"}, {"TANDEM_STRICT_TF", "1"}}) {
  set_logical_device_configuration(gpu(0), limits({10}));
  EXPECT_ERROR(set_memory_growth(gpu(0), true), ValueError,
               "Cannot set memory growth on device when virtual devices configured");
}

ALONE_TEST(Config, CpuMemoryLimit, {}) {
  set_logical_device_configuration(cpu(), limits({1, 2}));
  EXPECT_EQ(device_count("CPU"), 2);
  EXPECT_EQ(get_memory_info("CPU:1").limit, 2 << 20);
  auto& allocator = Runtime::get().named("CPU:0").allocator();
  EXPECT_ERROR(
      allocator.allocate(2 << 20, nullptr), ResourceExhaustedError,
      "OOM when allocating tensor with 2097152 bytes (2.00MiB) on "
      "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu: limit 1.00MiB, "
      "in use 0B");
  const Allocation half = allocator.allocate(1 << 19, nullptr);
  EXPECT_EQ(get_memory_usage("CPU:0"), 1 << 19);
  allocator.free(half, {});
}

ALONE_TEST(Config, StrictRefusesCpuMemoryLimit, {{"TANDEM_STRICT_TF", "1"}}) {
  EXPECT_ERROR(set_logical_device_configuration(cpu(), limits({1})), ValueError,
               "Setting memory limit on CPU virtual devices is currently not supported");
  set_logical_device_configuration(cpu(), {{}, {}});
  EXPECT_EQ(device_count("CPU"), 2);
}

ALONE_TEST(Config, LogicalCpusOwnTheirCores, {}) {
  set_logical_device_configuration(cpu(), {{}, {}});
  const int all = available_cores().size();
  auto& runtime = Runtime::get();
  const int first = runtime.find("CPU", 0)->team()->threads();
  const int second = runtime.find("CPU", 1)->team()->threads();
  if (all > 1) {
    EXPECT_EQ(first + second, all);
  } else {
    EXPECT_EQ(first + second, 2);
  }
  const auto claims = core_claims();
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].owner, "CPU:0");
  if (all > 1) {
    EXPECT_NE(claims[0].cores.cores, claims[1].cores.cores);
  }
}

ALONE_TEST(Config, EmulatedGpusTakeCoresFromTheCpu, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  const int all = available_cores().size();
  auto& runtime = Runtime::get();
  const int sum =
      runtime.cpu().team()->threads() + runtime.find("GPU", 0)->team()->threads();
  EXPECT_EQ(sum, std::max(2, all));
}

ALONE_TEST(Config, ThreadCounts, {}) {
  EXPECT_EQ(get_intra_op_parallelism_threads(), 0);
  EXPECT_ERROR(set_intra_op_parallelism_threads(-1), ValueError, "Intra op parallelism");
  set_intra_op_parallelism_threads(3);
  set_inter_op_parallelism_threads(2);
  EXPECT_EQ(Runtime::get().cpu().team()->threads(), 3);
  set_intra_op_parallelism_threads(3);
  EXPECT_ERROR(set_intra_op_parallelism_threads(4), RuntimeStateError,
               "Intra op parallelism cannot be modified after initialization.");
  EXPECT_ERROR(set_inter_op_parallelism_threads(4), RuntimeStateError,
               "Inter op parallelism cannot be modified after initialization.");
  EXPECT_EQ(get_inter_op_parallelism_threads(), 2);
}

ALONE_TEST(Config, SwitchesMayChangeAtAnyTime, {}) {
  EXPECT_TRUE(get_soft_device_placement());
  EXPECT_FALSE(get_log_device_placement());
  init();
  set_soft_device_placement(false);
  set_log_device_placement(true);
  EXPECT_FALSE(get_soft_device_placement());
  EXPECT_TRUE(get_log_device_placement());
  EXPECT_FALSE(op_determinism_enabled());
  enable_op_determinism();
  EXPECT_TRUE(op_determinism_enabled());
}

TEST(Config, CopyPolicyBelongsToTheThread) {
  EXPECT_EQ(get_device_policy(), CopyPolicy::kSilent);
  set_device_policy(copy_policy_from_name("explicit"));
  std::thread([] { EXPECT_EQ(get_device_policy(), CopyPolicy::kSilent); }).join();
  EXPECT_EQ(get_device_policy(), CopyPolicy::kExplicit);
  set_device_policy(CopyPolicy::kSilent);
  EXPECT_EQ(copy_policy_from_name("silent_for_int32"), CopyPolicy::kSilentForInt32);
  EXPECT_EQ(copy_policy_from_name("warn"), CopyPolicy::kWarn);
  EXPECT_ERROR(copy_policy_from_name("loud"), ValueError,
               "Invalid argument `device_policy`: 'loud'");
}

ALONE_TEST(Config, NamedDevices, {{"TANDEM_EMULATE_GPUS", "2"}}) {
  auto& runtime = Runtime::get();
  EXPECT_EQ(runtime.named("gpu:1").short_name(), "GPU:1");
  EXPECT_EQ(runtime.named("/device:CPU:0").short_name(), "CPU:0");
  EXPECT_EQ(runtime.named("CPU").short_name(), "CPU:0");
  EXPECT_EQ(runtime.named("/job:localhost/replica:0/task:0/device:GPU:0").short_name(),
            "GPU:0");
  EXPECT_ERROR(get_memory_info("GPU:9"), ValueError,
               "No matching devices found for 'GPU:9'");
  EXPECT_ERROR(get_memory_info("GPU"), ValueError, "Multiple devices matching 'GPU'");
  EXPECT_ERROR(get_memory_info(""), ValueError, "Failed parsing device name: ''");
  EXPECT_ERROR(get_memory_info("/job:worker/device:CPU:0"), ValueError,
               "No matching devices found");
}

ALONE_TEST(Config, TooLargeLimitsLeaveNothingBehind,
           {{"TANDEM_EMULATE_GPUS", "1"}, {"TANDEM_EMULATED_MEMORY_MB", "64"}}) {
  set_logical_device_configuration(gpu(0), limits({48, 48}));
  EXPECT_ERROR(init(), ResourceExhaustedError, "TANDEM_EMULATED_MEMORY_MB");
  EXPECT_TRUE(core_claims().empty());
  set_logical_device_configuration(gpu(0), limits({32, 32}));
  EXPECT_EQ(device_count("GPU"), 2);
}

ALONE_TEST(Config, ManyThreadsInitialiseOnce, {{"TANDEM_EMULATE_GPUS", "2"}}) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([] {
      EXPECT_EQ(Runtime::get().devices().size(), 3u);
      EXPECT_EQ(get_visible_devices().size(), 3u);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace tandem
