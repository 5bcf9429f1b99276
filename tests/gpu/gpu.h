// What the tests of this folder share: the first real GPU, or the reason to skip, and
// numbers to work on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "support/floats.h"
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

inline constexpr size_t kMiB = 1 << 20;

/// Numbers from -1 to 1, the same in every run.
inline Tensor noise(const Shape& shape, int64_t seed) {
  Floats values(static_cast<size_t>(shape.num_elements()));
  uint64_t state = static_cast<uint64_t>(seed) * 6364136223846793005u + 1;
  for (float& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<float>(state >> 40) / (1 << 23) - 1.0f;
  }
  return reshape(constant(values), shape);
}

template <class F>
auto on(const char* device, F&& body) {
  const DeviceScope scope(device);
  return body();
}

}  // namespace tandem::testing
