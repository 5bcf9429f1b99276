// Copies happen where they are needed, once, and are counted exactly.
#include "emulated/run/gpu.h"
#include "support/alone.h"

namespace tandem {
namespace {

using testing::filled;
using testing::Floats;
using testing::floats;
using testing::on;

/// Copies and bytes that `body` causes.
template <class F>
CopyStats copies_of(F&& body) {
  const CopyStats before = copy_stats();
  body();
  synchronize();
  const CopyStats after = copy_stats();
  return {after.count - before.count, after.bytes - before.bytes};
}

TEST(Copies, AnInputCrossesOncePerCallHoweverOftenItIsGiven) {
  const Tensor a = filled("CPU:0", {4, 4}, 1);
  const CopyStats one = copies_of(
      [&] { on("GPU:0", [&] { return matmul(a, a, {.transpose_b = true}); }); });
  EXPECT_EQ(one.count, 1);
  EXPECT_EQ(one.bytes, 64);
  const Tensor b = filled("CPU:0", {4, 4}, 2);
  const CopyStats two =
      copies_of([&] { on("GPU:0", [&] { return concat({a, b, a}, {0}); }); });
  EXPECT_EQ(two.count, 2);
  EXPECT_EQ(two.bytes, 128);
}

TEST(Copies, EveryCallCopiesAgain) {
  const Tensor a = filled("CPU:0", {4}, 1);
  const CopyStats stats = copies_of([&] {
    on("GPU:0", [&] { return a + a; });
    on("GPU:0", [&] { return a + a; });
  });
  EXPECT_EQ(stats.count, 2);
}

TEST(Copies, ATensorThatIsThereStaysThere) {
  const Tensor a = filled("GPU:0", {4}, 1);
  EXPECT_EQ(copies_of([&] { on("GPU:0", [&] { return a * a + a; }); }).count, 0);
  EXPECT_EQ(copies_of([&] { EXPECT_TRUE(a.to("GPU:0").is(a)); }).count, 0);
}

TEST(Copies, AViewCarriesOnlyItsOwnBytes) {
  const Tensor a = filled("GPU:0", {64, 4}, 3);
  const Tensor row = on("GPU:0", [&] { return slice(a, {5, 0}, {1, 4}); });
  const CopyStats stats = copies_of([&] { EXPECT_EQ(floats(row), Floats(4, 3)); });
  EXPECT_EQ(stats.count, 1);
  EXPECT_EQ(stats.bytes, 16);
}

TEST(Copies, BetweenGpusInOneStep) {
  const Tensor a = filled("GPU:0", {256}, 3);
  Tensor b;
  const CopyStats stats = copies_of([&] { b = a.to("GPU:1"); });
  EXPECT_EQ(stats.count, 1);
  EXPECT_EQ(stats.bytes, 1024);
  EXPECT_EQ(floats(b), Floats(256, 3));
}

TEST(Copies, ReadingCostsOne) {
  const Tensor a = filled("GPU:0", {256}, 3);
  EXPECT_EQ(copies_of([&] { a.to_host(); }).count, 1);
  EXPECT_EQ(copies_of([&] { a.wait(); }).count, 0);
}

TEST(Copies, EmptyTensorsCostNothing) {
  const Tensor a = filled("GPU:0", {0, 3}, 3);
  EXPECT_EQ(copies_of([&] { EXPECT_TRUE(floats(a).empty()); }).count, 0);
}

TEST(Copies, ShapesThatTheHostKnowsDoNotComeBack) {
  const Tensor a = filled("GPU:0", {2, 3}, 3);
  Tensor s, b;
  on("GPU:0", [&] {
    s = constant({3, 2});
    return 0;
  });
  const CopyStats stats =
      copies_of([&] { b = on("GPU:0", [&] { return reshape(a, s); }); });
  EXPECT_EQ(stats.count, 0);
  EXPECT_EQ(b.shape(), (Shape{3, 2}));
}

TEST(Copies, AVariableIsReadWhereItIs) {
  const Variable v = on("GPU:0", [] { return Variable(fill({256}, constant(1.f))); });
  const Tensor delta = filled("CPU:0", {256}, 1);
  EXPECT_EQ(copies_of([&] { v.read(); }).count, 0);
  EXPECT_EQ(copies_of([&] { Variable(v).assign_add(delta); }).count, 1);
  EXPECT_EQ(floats(v.read()), Floats(256, 2));
}

}  // namespace
}  // namespace tandem
