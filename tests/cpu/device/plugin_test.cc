// Loading of backend plugins, good and bad.
#include "device/plugin.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "device/runtime.h"
#include "support/alone.h"
#include "tandem/device.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

bool some_reason_has(const std::string& text) {
  for (const std::string& reason : Runtime::get().absence_reasons()) {
    if (reason.find(text) != std::string::npos) return true;
  }
  return false;
}

ALONE_TEST(Plugin, ADeviceTypeOfItsOwn,
           {{"TANDEM_PLUGIN_PATH", TANDEM_FAKE_PLUGIN},
            {"TANDEM_FAKE_PART", "npu"},
            {"TANDEM_EMULATE_GPUS", "1"}}) {
  const auto physical = config::list_physical_devices();
  ASSERT_EQ(physical.size(), 3u);
  EXPECT_EQ(physical[1].name, "/physical_device:NPU:0");
  EXPECT_EQ(physical[2].name, "/physical_device:GPU:0");
  EXPECT_EQ(config::get_device_details(physical[1]).device_name, "Fake");
  EXPECT_ERROR(config::set_logical_device_configuration(physical[1], {{}}), ValueError,
               "Virtual devices are not supported for NPU");
  config::set_memory_growth(physical[1], true);
  EXPECT_EQ(Runtime::get().named("/NPU:0").short_name(), "NPU:0");
  // The build may have brought others.
  const auto& plugins = load_plugins().plugins;
  EXPECT_EQ(std::count_if(plugins.begin(), plugins.end(),
                          [](const Plugin& p) {
                            return p.path == TANDEM_FAKE_PLUGIN && p.library;
                          }),
            1);
}

ALONE_TEST(Plugin, AnotherInterfaceVersion,
           {{"TANDEM_PLUGIN_PATH", TANDEM_FAKE_PLUGIN}, {"TANDEM_FAKE_PART", "abi"}}) {
  EXPECT_EQ(config::list_physical_devices().size(), 1u);
  EXPECT_TRUE(some_reason_has("was built for another version of Tandem"));
}

ALONE_TEST(Plugin, OneThatOthersMayWriteIsNotLoaded, {}) {
  const fs::path folder =
      fs::temp_directory_path() / ("tandem-plugin-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path plugin = folder / "libtandem_fake.so";
  fs::copy_file(TANDEM_FAKE_PLUGIN, plugin, fs::copy_options::overwrite_existing);
  fs::permissions(plugin, fs::perms::others_write, fs::perm_options::add);
  setenv("TANDEM_PLUGIN_PATH", plugin.c_str(), 1);
  const LoadedPlugins& loaded = load_plugins();
  EXPECT_TRUE(std::none_of(loaded.plugins.begin(), loaded.plugins.end(),
                           [&](const Plugin& p) { return p.path == plugin.string(); }));
  EXPECT_TRUE(std::any_of(loaded.problems.begin(), loaded.problems.end(),
                          [](const std::string& p) {
                            return p.find("everybody may write") != std::string::npos;
                          }));
  fs::remove_all(folder);
}

ALONE_TEST(Plugin, NoDeviceFound,
           {{"TANDEM_PLUGIN_PATH", TANDEM_FAKE_PLUGIN}, {"TANDEM_FAKE_PART", "absent"}}) {
  EXPECT_EQ(config::list_physical_devices().size(), 1u);
  EXPECT_TRUE(some_reason_has("no driver; install it"));
}

ALONE_TEST(Plugin, AProbeThatThrows,
           {{"TANDEM_PLUGIN_PATH", TANDEM_FAKE_PLUGIN}, {"TANDEM_FAKE_PART", "throws"}}) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(config::list_physical_devices().size(), 1u);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("the driver is too old"),
            std::string::npos);
  EXPECT_TRUE(some_reason_has("the driver is too old"));
}

ALONE_TEST(Plugin, AFileThatIsNoLibrary, {}) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("tandem-plugins-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "libtandem_garbage.so") << "this is no library";
  std::ofstream(folder / "libother.so") << "not looked at";
  setenv("TANDEM_PLUGIN_PATH", ("/nonexistent:" + folder.string()).c_str(), 1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(config::list_physical_devices().size(), 1u);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("libtandem_garbage.so"),
            std::string::npos);
  EXPECT_TRUE(some_reason_has("cannot be loaded"));
  EXPECT_FALSE(some_reason_has("libother"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tandem
