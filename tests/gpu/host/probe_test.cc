// Why there is no GPU, in words, from a fake driver; and the words kernels' reports
// become.
#include "device/cuda/probe.h"

#include <cstring>

#include <gtest/gtest.h>

#include "device/cuda/error_report.h"
#include "device/launch_label.h"

namespace tandem::cuda {
namespace {

int g_version = 13000;
int g_count = 1;
CUresult g_init = CUDA_SUCCESS;
int g_major = 9;

DriverApi fake_api() {
  DriverApi api;
  api.cuInit = [](unsigned) { return g_init; };
  api.cuDriverGetVersion = [](int* v) {
    *v = g_version;
    return CUDA_SUCCESS;
  };
  api.cuDeviceGetCount = [](int* n) {
    *n = g_count;
    return g_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
  };
  api.cuDeviceGet = [](CUdevice* d, int i) {
    *d = i;
    return CUDA_SUCCESS;
  };
  api.cuDeviceGetName = [](char* name, int size, CUdevice) {
    std::strncpy(name, "Fake GPU", static_cast<size_t>(size));
    return CUDA_SUCCESS;
  };
  api.cuDeviceTotalMem = [](size_t* bytes, CUdevice) {
    *bytes = size_t{8} << 30;
    return CUDA_SUCCESS;
  };
  api.cuDeviceGetAttribute = [](int* value, CUdevice_attribute what, CUdevice) {
    *value = what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? g_major : 0;
    return CUDA_SUCCESS;
  };
  return api;
}

struct ProbeTest : ::testing::Test {
  ProbeTest() {
    g_version = 13000;
    g_count = 1;
    g_init = CUDA_SUCCESS;
    g_major = 9;
    load.api = &api;
  }
  bool reason_has(const ProbeResult& r, const char* text) {
    return r.gpus.empty() && r.reason.find(text) != std::string::npos;
  }
  DriverApi api = fake_api();
  DriverLoad load;
};

TEST_F(ProbeTest, FindsAGpuWithItsFacts) {
  const ProbeResult r = probe_gpus(load, nullptr, "");
  ASSERT_EQ(r.gpus.size(), 1u);
  EXPECT_TRUE(r.reason.empty());
  EXPECT_EQ(r.gpus[0].arch, 90);
  EXPECT_EQ(r.gpus[0].probed.details.device_name, "Fake GPU");
  EXPECT_EQ(r.gpus[0].probed.details.compute_capability, "9.0");
  EXPECT_EQ(r.gpus[0].probed.memory_bytes, int64_t{8} << 30);
}
TEST_F(ProbeTest, MemoryIsCappedOnRequest) {
  ProbeResult r = probe_gpus(load, nullptr, "");
  cap_memory(r.gpus, 0);
  EXPECT_EQ(r.gpus.at(0).probed.memory_bytes, int64_t{8} << 30);
  cap_memory(r.gpus, 10240);
  EXPECT_EQ(r.gpus.at(0).probed.memory_bytes, int64_t{8} << 30);
  cap_memory(r.gpus, 512);
  EXPECT_EQ(r.gpus.at(0).probed.memory_bytes, int64_t{512} << 20);
}
TEST_F(ProbeTest, NoDriver) {
  DriverLoad none;
  none.problem = "no NVIDIA driver: libcuda.so.1 cannot be loaded";
  EXPECT_TRUE(reason_has(probe_gpus(none, nullptr, ""), "no NVIDIA driver"));
}
TEST_F(ProbeTest, DriverTooOld) {
  g_version = 11080;
  const ProbeResult r = probe_gpus(load, nullptr, "");
  EXPECT_TRUE(reason_has(r, "too old")) << r.reason;
  EXPECT_TRUE(reason_has(r, "CUDA 11.8")) << r.reason;
  EXPECT_TRUE(reason_has(r, "535")) << r.reason;
}
TEST_F(ProbeTest, HiddenByTheEnvironment) {
  g_count = 0;
  EXPECT_TRUE(reason_has(probe_gpus(load, "", ""), "CUDA_VISIBLE_DEVICES=\"\""));
  EXPECT_TRUE(reason_has(probe_gpus(load, nullptr, ""), "found no GPU"));
}
TEST_F(ProbeTest, ALibraryIsMissing) {
  EXPECT_TRUE(reason_has(probe_gpus(load, nullptr, "libnvrtc.so.13 cannot be loaded"),
                         "libnvrtc.so.13"));
}
TEST_F(ProbeTest, TheGpuIsTooOld) {
  g_major = 6;
  EXPECT_TRUE(reason_has(probe_gpus(load, nullptr, ""), "7.5 or newer"));
}
TEST_F(ProbeTest, TheDriverDoesNotStart) {
  g_init = CUDA_ERROR_SYSTEM_NOT_READY;
  EXPECT_TRUE(reason_has(probe_gpus(load, nullptr, ""), "does not start"));
}

TEST(Reports, TheSiteHasTheWordsWhileItLives) {
  Report report;
  report.code = 1;
  report.value = 7;
  {
    const ErrorSite site(
        [](const Report& r) { return "bad " + std::to_string(r.value); });
    report.site = site.id();
    EXPECT_EQ(words_for(report).text, "bad 7");
    EXPECT_EQ(words_for(report).code, ErrorCode::kInvalidArgument);
  }
  EXPECT_NE(words_for(report).text.find("7"), std::string::npos);
}

TEST(Reports, AnErrorKeepsItsClassWithTheLabelOfItsLaunch) {
  const ErrorSite site([](const Report&) -> ReportWords {
    return {"too long", ErrorCode::kFailedPrecondition};
  });
  const LaunchLabel label(nullptr, [](const void*) { return std::string(" at home"); });
  Report report;
  report.code = 1;
  report.site = site.id();
  EXPECT_EQ(words_for(report).text, "too long at home");
  EXPECT_EQ(words_for(report).code, ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tandem::cuda
