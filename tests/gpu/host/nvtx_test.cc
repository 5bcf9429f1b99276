// Ranges reach a tool that asks for them, and nobody otherwise.
#include "device/cuda/nvtx.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/ranges.h"

namespace tandem::cuda {
namespace {

TEST(Nvtx, RangesGoToTheToolThatAsksForThem) {
  unsetenv("NVTX_INJECTION64_PATH");
  unsetenv("TANDEM_NVTX");
  EXPECT_FALSE(start_nvtx());
  {
    const ranges::Range nobody("nobody sees this");
  }

  // NVTX looks for its tool when the first range begins.
  const std::string log = ::testing::TempDir() + "tandem_nvtx_test.log";
  setenv("FAKE_NVTX_LOG", log.c_str(), 1);
  setenv("NVTX_INJECTION64_PATH", TANDEM_FAKE_NVTX_TOOL, 1);
  setenv("TANDEM_NVTX", "0", 1);
  EXPECT_FALSE(start_nvtx());
  unsetenv("TANDEM_NVTX");
  ASSERT_TRUE(start_nvtx());
  {
    const ranges::Range step("captured step");
    const ranges::Range op("MatMul");
  }
  ranges::set_sink(nullptr);
  {
    const ranges::Range nobody("nor this");
  }
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  EXPECT_EQ(text.str(), "push captured step\npush MatMul\npop\npop\n");
}

}  // namespace
}  // namespace tandem::cuda
