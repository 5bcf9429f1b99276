// What the tests of this folder share: the first real GPU, or the reason to skip.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "tandem/tandem.h"

namespace tandem::testing {

/// The first GPU that is not emulated, or null.
inline Device* real_gpu() {
  for (Device* device : Runtime::get().devices()) {
    if (device->type() == "GPU" && !device->emulated()) return device;
  }
  return nullptr;
}
inline std::string why_no_gpu() {
  std::string text = "no GPU here";
  for (const std::string& reason : Runtime::get().absence_reasons())
    text += "; " + reason;
  return text;
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    gpu = real_gpu();
    if (!gpu) GTEST_SKIP() << why_no_gpu();
  }
  /// What `body` throws must not stay for the next test.
  void TearDown() override {
    if (!gpu) return;
    try {
      gpu->synchronize();
    } catch (const Error&) {
    }
  }
  Device* gpu = nullptr;
};

/// Why there are no kernels that the build compiled ahead; empty: there are.
inline std::string why_no_prebuilt() {
#ifdef TANDEM_HAS_PREBUILT
  return {};
#else
  return "this build compiled no kernels ahead (TANDEM_PREBUILT=OFF)";
#endif
}
#define NEEDS_PREBUILT() \
  if (const std::string why = why_no_prebuilt(); !why.empty()) GTEST_SKIP() << why

using Floats = std::vector<float>;
inline Floats floats(const Tensor& t) { return t.to_vector<float>(); }

template <class F>
auto on(const char* device, F&& body) {
  const DeviceScope scope(device);
  return body();
}

}  // namespace tandem::testing
