// When kernels are told addresses, and when a copy is cheaper.
#include "plan/operands.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "device/operand_address.h"

namespace tandem {
namespace {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

TEST(Binding, SmallOnesAreCopiedOnTheHost) {
  EXPECT_FALSE(choose_binding(0, 1, false).in_place);
  EXPECT_FALSE(choose_binding(256 * kKiB - 1, 1, false).in_place);
  EXPECT_EQ(choose_binding(256 * kKiB - 1, 1, false).why, "small");
  EXPECT_TRUE(choose_binding(256 * kKiB, 1, false).in_place);
}

// A launch takes longer than telling one more kernel, but not two.
TEST(Binding, AGpuSparesTheLaunchOfACopy) {
  EXPECT_FALSE(choose_binding(0, 1, true).in_place);
  EXPECT_TRUE(choose_binding(4, 2, true).in_place);
  EXPECT_FALSE(choose_binding(4, 3, true).in_place);
}

// 2 MiB are copied in 1.5 µs and 2 · 2 MiB / 3900 B/ns = 1.08 µs: three kernels are told
// in two microseconds more than the copy, four in three.
TEST(Binding, ManyKernelsAreToldOnlyOfWhatIsLarge) {
  EXPECT_TRUE(choose_binding(2 * kMiB, 3, false).in_place);
  EXPECT_EQ(choose_binding(2 * kMiB, 3, false).why, "told to 3 kernels");
  EXPECT_FALSE(choose_binding(2 * kMiB, 4, false).in_place);
  EXPECT_EQ(choose_binding(2 * kMiB, 4, false).why,
            "telling 4 kernels an address takes longer");
  EXPECT_TRUE(choose_binding(256 * kMiB, 100, false).in_place);
  EXPECT_FALSE(choose_binding(256 * kMiB, 200, false).in_place);
}

TEST(Binding, WhatIsTooLargeForARecordingIsCopied) {
  EXPECT_TRUE(choose_binding(operand_address::kMostBytes, 1, false).in_place);
  EXPECT_FALSE(choose_binding(operand_address::kMostBytes + 1, 1, false).in_place);
}

TEST(OperandAddress, SaysWhichOperandAndWhereInIt) {
  for (const int32_t number : {0, 1, 77, operand_address::kMostOperands - 1}) {
    const auto base = reinterpret_cast<uint64_t>(operand_address::of(number));
    for (const int64_t offset : {-operand_address::kMostBytes, int64_t{-8}, int64_t{0},
                                 int64_t{12}, operand_address::kMostBytes}) {
      const uint64_t word = base + static_cast<uint64_t>(offset);
      EXPECT_TRUE(operand_address::is(word));
      EXPECT_EQ(operand_address::number(word), number);
      EXPECT_EQ(operand_address::offset(word), offset);
    }
    EXPECT_EQ(base % operand_address::kAlignment, 0u);
  }
}

TEST(OperandAddress, IsNoNumberOfAProgram) {
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MAX, INT64_MIN,
                          int64_t{1} << 40, -(int64_t{1} << 40)}) {
    EXPECT_FALSE(operand_address::is(static_cast<uint64_t>(n)));
  }
  EXPECT_FALSE(operand_address::is(uint64_t{0x00007FFFFFFFFFFF}));  // a user's address
}

}  // namespace
}  // namespace tandem
