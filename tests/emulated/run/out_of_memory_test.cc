// What an allocation that fails says: what was wanted, what takes the memory, and where
// it came from.
#include <regex>

#include <fmt/format.h>

#include "emulated/run/gpu.h"
#include "support/alone.h"

namespace tandem {
namespace {

using testing::filled;
using testing::floats;
using testing::kMiB;
using testing::on;

const testing::Env kTwoSmallGpus = {{"TANDEM_EMULATE_GPUS", "2"},
                                    {"TANDEM_EMULATED_MEMORY_MB", "16"}};

/// The message of the error that `body` must throw.
template <class F>
std::string exhaustion(F&& body) {
  try {
    body();
  } catch (const ResourceExhaustedError& e) {
    return e.what();
  }
  ADD_FAILURE() << "it fits";
  return {};
}

size_t lines_with(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

#define EXPECT_SAYS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "not in: " << (text)
#define EXPECT_SAYS_NOT(text, part) \
  EXPECT_EQ((text).find(part), std::string::npos) << "in: " << (text)

ALONE_TEST(OutOfMemory, ListsTheLargestByWhatTheyAre, kTwoSmallGpus) {
  const DeviceScope gpu("/GPU:0");
  const Variable weights(fill({kMiB}, constant(1.f)), {.name = "dense/kernel"});  // 4 MiB
  const Tensor half = fill({kMiB / 2}, constant(1.f));                            // 2 MiB
  const Tensor sum = half + half, other = half + half;                            // 4 MiB
  const Tensor bytes = cast(fill({kMiB}, constant(1.f)), uint8);                  // 1 MiB
  const Tensor small = fill({16}, constant(1.f));
  const std::string text =
      exhaustion([&] { concat({half, half, half, half}, {0}).wait(); });
  EXPECT_SAYS(text, "OOM when allocating tensor with 8388608 bytes (8.00MiB)");
  EXPECT_SAYS(text, "limit 16.00MiB, in use 11.00MiB, largest free block ");
  EXPECT_SAYS(text, "\nIt was for: result of ConcatV2, float32 [2097152]");
  EXPECT_SAYS(text,
              "\nAlive on GPU:0, 11.00MiB in 5 large buffers, the largest first:\n");
  EXPECT_SAYS(text, "\n  4.00MiB: value of variable 'dense/kernel', float32 [1048576]");
  EXPECT_SAYS(text, "\n  4.00MiB (2 of 2.00MiB): result of AddV2, float32 [524288]");
  EXPECT_SAYS(text, "\n  2.00MiB: result of Fill, float32 [524288]");
  EXPECT_SAYS(text, "\n  1.00MiB: result of Cast, uint8 [1048576]");
  EXPECT_LT(text.find("'dense/kernel'"), text.find("result of Cast"));
  EXPECT_SAYS_NOT(text, "[16]");
}

ALONE_TEST(OutOfMemory, WhatIsGoneIsNotListed, kTwoSmallGpus) {
  {
    filled("GPU:0", {kMiB}, 1).wait();
  }
  synchronize();
  const std::string text = exhaustion([] { filled("GPU:0", {8 * kMiB}, 1); });
  EXPECT_SAYS(text, "\nIt was for: result of Fill, float32 [8388608]");
  EXPECT_SAYS(text, "\nNo large tensor is alive there.");
}

ALONE_TEST(OutOfMemory, DevicesAreListedForThemselves, kTwoSmallGpus) {
  const Tensor here = filled("GPU:0", {kMiB}, 1), there = filled("GPU:1", {2 * kMiB}, 1);
  const std::string text = exhaustion([] { filled("GPU:0", {4 * kMiB}, 1); });
  EXPECT_SAYS(text, "\nAlive on GPU:0, 4.00MiB in 1 large buffers");
  EXPECT_SAYS_NOT(text, "[2097152]");
}

ALONE_TEST(OutOfMemory, AtMostEightKindsAndTheRestTogether, kTwoSmallGpus) {
  const DeviceScope gpu("/GPU:0");
  std::vector<Tensor> kept;
  for (int64_t i = 0; i < 12; ++i) {
    kept.push_back(fill({kMiB / 8 + 1024 * i}, constant(1.f)));
  }
  const std::string text = exhaustion([] { fill({4 * kMiB}, constant(1.f)).wait(); });
  EXPECT_EQ(lines_with(text, ": result of Fill, float32 ["), 1 + 8u) << text;
  EXPECT_SAYS(text, ": 4 more kinds");
}

ALONE_TEST(OutOfMemory, ValuesOfVariablesKeepTheirName, kTwoSmallGpus) {
  const DeviceScope gpu("/GPU:0");
  Variable v(fill({kMiB / 2}, constant(1.f)), {.name = "w"});
  const Tensor snapshot = v.read();
  v.assign_add(snapshot);  // to other memory: somebody still reads the value before
  const Tensor assigned = snapshot + 1.f;
  Variable u(fill({kMiB / 2}, constant(0.f)), {.name = "u"});
  u.assign(assigned);
  const std::string text = exhaustion([] { fill({4 * kMiB}, constant(1.f)).wait(); });
  EXPECT_SAYS(text, "4.00MiB (2 of 2.00MiB): value of variable 'w', float32 [524288]");
  EXPECT_SAYS(text, ": value of variable 'u', float32 [524288]");
}

ALONE_TEST(OutOfMemory, CopiesSayThatTheyAre, kTwoSmallGpus) {
  const Tensor big = filled("CPU:0", {8 * kMiB}, 1);
  const Tensor small = filled("CPU:0", {kMiB}, 1).to("GPU:0");
  const std::string text = exhaustion([&] { big.to("GPU:0"); });
  EXPECT_SAYS(text, "\nIt was for: copy from the host, float32 [8388608]");
  EXPECT_SAYS(text, "\n  4.00MiB: copy from the host, float32 [1048576]");
}

ALONE_TEST(OutOfMemory, FunctionsAreListedByTheirName, kTwoSmallGpus) {
  const Tensor x = filled("GPU:0", {512, 512}, 0);  // 1 MiB
  auto f = function([](Tensor v) { return matmul(matmul(v, v), v); }, {.name = "twice"});
  const Tensor y = f(x);
  const std::string text = exhaustion([] { filled("GPU:0", {4 * kMiB}, 1).wait(); });
  EXPECT_SAYS(text, ": intermediate values of twice");
  EXPECT_SAYS(text, "\n  1.00MiB: result of twice, float32 [512,512]");
}

// A chain of values that are all needed in the end.
Tensor wide(const Tensor& x) {
  std::vector<Tensor> kept;
  for (int i = 0; i < 20; ++i) kept.push_back(matmul(x, x + static_cast<float>(i)));
  Tensor sum = kept[0];
  for (const Tensor& t : kept) sum = matmul(sum, t);
  return sum;
}

ALONE_TEST(OutOfMemory, APlanThatIsTooLargeSaysWhichValuesAre, kTwoSmallGpus) {
  const Tensor x = filled("GPU:0", {512, 512}, 0);
  auto f = function(wide, {.name = "wide"});
  const std::string text = exhaustion([&] { f(x).wait(); });
  EXPECT_SAYS(text, "wide: a call needs ");
  EXPECT_SAYS(text, "which is exceeded by ");
  EXPECT_SAYS(text, "\nLargest values of wide, where most of them are needed at once:\n");
  const std::regex value(
      "\n  1\\.00MiB: [^\n]*MatMul[^\n]*, float32 \\[512,512\\], at "
      "[^\n]*out_of_memory_test\\.cc:[0-9]+");
  EXPECT_TRUE(std::regex_search(text, value)) << text;
  EXPECT_EQ(floats(on("/GPU:0", [&] { return x + 1.f; }))[0], 1);
}

ALONE_TEST(OutOfMemory, LargeTensorsHaveTheLineThatMadeThem,
           {{"TANDEM_EMULATE_GPUS", "1"}, {"TANDEM_EMULATED_MEMORY_MB", "100"}}) {
  const Tensor large = filled("GPU:0", {8 * kMiB}, 1), small = filled("GPU:0", {kMiB}, 1);
  const std::string text = exhaustion([] { filled("GPU:0", {32 * kMiB}, 1); });
  const std::regex with_line(
      "\n  32\\.00MiB: result of Fill, float32 \\[8388608\\], at "
      "[^\n]*:[0-9]+");
  EXPECT_TRUE(std::regex_search(text, with_line)) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("float32 \\[1048576\\](\n|$)"))) << text;
}

}  // namespace
}  // namespace tandem

#undef EXPECT_SAYS
#undef EXPECT_SAYS_NOT
