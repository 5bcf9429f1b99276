// What a tape keeps: contents that gradients read, nothing else.
#include <gtest/gtest.h>

#include "support/numeric.h"

namespace tandem {
namespace {

constexpr int64_t kElements = 1 << 14;
constexpr int64_t kBytes = kElements * 8;

int64_t used() { return config::get_memory_usage("CPU:0"); }

Tensor vector(double value) { return fill({kElements}, constant(value)); }

TEST(TapeMemory, SumsKeepNothing) {
  const Tensor x = vector(1);
  const int64_t before = used();
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = y + x;
  EXPECT_LT(used() - before, 2 * kBytes) << "only the last sum is alive";
  testing::expect_close(slice(tape.gradient(y, {x})[0].dense(), {0}, {1}), {11});
}

TEST(TapeMemory, ProductsKeepTheirInputs) {
  const Tensor x = vector(1);
  const int64_t before = used();
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 4; ++i) y = y * x;
  // y0 is x itself; y1…y3 are inputs of later products, y4 is held here.
  EXPECT_GE(used() - before, 4 * kBytes);
  EXPECT_LT(used() - before, 5 * kBytes);
}

TEST(TapeMemory, OpsThatAreNotWatchedKeepNothing) {
  const Tensor x = vector(1), watched = constant(1.0);
  const int64_t before = used();
  GradientTape tape;
  tape.watch(watched);
  Tensor y = x;
  for (int i = 0; i < 4; ++i) y = y * x;
  y = Tensor();
  EXPECT_EQ(used(), before);
}

TEST(TapeMemory, IsGivenBackAfterTheGradient) {
  const Tensor x = vector(1);
  const int64_t before = used();
  GradientTape tape;
  tape.watch(x);
  {
    Tensor y = x;
    for (int i = 0; i < 4; ++i) y = y * x;
    EXPECT_TRUE(tape.gradient(y, {x})[0].defined());
  }
  EXPECT_EQ(used(), before);
}

TEST(TapeMemory, IsGivenBackByResetAndByTheTapesEnd) {
  const Tensor x = vector(1);
  const int64_t before = used();
  {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    (x * x) * x;
    EXPECT_GT(used(), before);
    tape.reset();
    EXPECT_EQ(used(), before);
    tape.watch(x);
    (x * x) * x;
    EXPECT_GT(used(), before);
  }
  EXPECT_EQ(used(), before);
}

TEST(TapeMemory, AVariablesOldValuesLiveAsLongAsTheyAreNeeded) {
  Variable v(vector(2));
  const int64_t before = used();
  {
    GradientTape tape;
    const Tensor y = v.read() * v.read();
    v.assign_add(vector(1));
    testing::expect_close(slice(tape.gradient(y, {v})[0].dense(), {0}, {1}), {4});
  }
  EXPECT_EQ(used(), before);
}

}  // namespace
}  // namespace tandem
