// The end of a process with work still queued, and scopes that do not nest.
#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

TEST(Exit, WorkStillQueuedRunsAndTheProcessEndsWell) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (int i = 0; i < 5; ++i) {
    EXPECT_EXIT(
        {
          DeviceScope scope("/GPU:0");
          Tensor x = random::normal({64, 64});
          for (int k = 0; k < 100; ++k) x = matmul(x, x) * 0.01;
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

TEST(Exit, AnErrorNobodyWaitedForIsToldAtTheEnd) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        DeviceScope scope("/GPU:0");
        gather(ones({3}), constant({7}));
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "an error that nobody waited for: .*indices.0. = 7");
}

TEST(Exit, EndlessLoopsOfADeviceAreGivenUp) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const DeviceScope scope("/GPU:0");
        auto spin = function([](Tensor x, Tensor limit) {
          return while_loop(
              [&](std::span<const Tensor> v) { return v[0] < limit; },
              [](std::span<const Tensor> v) { return std::vector<Tensor>{v[0] * 0.5f}; },
              {x})[0];
        });
        const Tensor one = identity(constant(1.f));
        spin(one, identity(constant(0.f))).wait();
        const Tensor never = spin(one, identity(constant(2.f)));
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(DeviceScopes, OnTheHeapMayGoInAnyOrder) {
  auto scope = std::make_unique<DeviceScope>("/GPU:1");
  scope = std::make_unique<DeviceScope>(
      "/GPU:0");  // the new one first, then the old one goes
  EXPECT_NE(ones({2}).device().find("GPU:0"), std::string::npos);
  scope.reset();
  {
    DeviceScope cpu("/CPU:0");
  }
  EXPECT_NE(ones({2}).device().find("GPU:0"), std::string::npos);
}

}  // namespace
}  // namespace tandem
