// The table of CUPTI's functions, from the library where it is installed.
#include "device/cuda/cupti.h"

#include <gtest/gtest.h>

namespace tandem::cuda {
namespace {

TEST(Cupti, IsThereWithAllItsFunctionsOrSaysWhatToInstall) {
  const CuptiLoad& load = load_cupti();
  if (!load.api) {
    EXPECT_NE(load.problem.find("libcupti.so.1"), std::string::npos) << load.problem;
    EXPECT_NE(load.problem.find("install"), std::string::npos) << load.problem;
    return;
  }
  EXPECT_EQ(load.problem, "");
  EXPECT_EQ(describe(*load.api, CUPTI_ERROR_NOT_INITIALIZED),
            "CUPTI_ERROR_NOT_INITIALIZED");
}

}  // namespace
}  // namespace tandem::cuda
