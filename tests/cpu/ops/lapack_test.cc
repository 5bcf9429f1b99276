#include "kernels/cpu/lapack.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

// Float32 cannot say 2^24 + 2, 2^24 + 4 and the sizes that lie between.
TEST(Lapack, WorkspacesOfLargeMatricesAreLargeEnough) {
  for (const int64_t n : {64, 2896, 2897, 2900, 4001, 11000}) {
    const int64_t asked = 1 + 6 * n + 2 * n * n;  // eigenvectors of a symmetric matrix
    EXPECT_GE(cpu::lapack::queried(static_cast<float>(asked)), asked) << n;
    EXPECT_EQ(cpu::lapack::queried(static_cast<double>(asked)), asked) << n;
  }
  EXPECT_EQ(cpu::lapack::queried(-1.f), 1);
}

}  // namespace
}  // namespace tandem
