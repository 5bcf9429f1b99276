// What tests on the pretended GPU share: it as a device, or the reason to skip.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "gpu/fake/fake_gpu.h"
#include "gpu/gpu.h"
#include "support/alone.h"
#include "tandem/tandem.h"

namespace tandem::testing {

/// The plugin's host side is real, and so is NVRTC: where its libraries are missing, the
/// device is not offered.
class FakeGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!gpu) return;
    fake::run_at_once(true);
    gpu->synchronize();
    fake::take_log();
  }
  void TearDown() override {
    fake::run_at_once(true);
    GpuTest::TearDown();
  }
};

using Lines = std::vector<std::string>;
inline size_t count(const Lines& log, const std::string& start) {
  size_t n = 0;
  for (const std::string& line : log) n += line.starts_with(start);
  return n;
}

}  // namespace tandem::testing
