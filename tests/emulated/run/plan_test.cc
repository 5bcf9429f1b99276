// Plans on devices: what the copy policy refuses, what exceeds a limit and by how much,
// where the ops between two parts run, and captured tensors of a device on a tape.
#include "emulated/run/gpu.h"
#include "run/compiled_function.h"
#include "support/alone.h"
#include "support/traced.h"

namespace tandem {
namespace {

using testing::filled;
using testing::Floats;
using testing::floats;
using testing::kMiB;
using testing::on;

// The thread's policy for the time of a test.
struct Policy {
  explicit Policy(CopyPolicy p) { config::set_device_policy(p); }
  ~Policy() { config::set_device_policy(CopyPolicy::kSilent); }
};

Tensor sum_on_gpu(const Tensor& x) {
  const Tensor y = on("/CPU:0", [&] { return x * 2.f; });
  return on("/GPU:0", [&] { return exp(y) + y; });
}

TEST(PlannedCopies, AreRefusedWhereOnlyExplicitOnesAreAllowed) {
  const Policy explicit_only(CopyPolicy::kExplicit);
  auto f = function([](Tensor x) { return sum_on_gpu(x); }, {.name = "crossing"});
  const Tensor x = filled("CPU:0", {4}, 0);
  EXPECT_ERROR(f(x), InvalidArgumentError, "Exp");
  EXPECT_ERROR(f(x), InvalidArgumentError, "GPU:0");
}

TEST(PlannedCopies, AnIdentityInAScopeAsksForOne) {
  const Policy explicit_only(CopyPolicy::kExplicit);
  auto f = function([](Tensor x) {
    const Tensor y = on("/CPU:0", [&] { return x * 2.f; });
    return on("/GPU:0", [&] {
      const Tensor there = identity(y);
      return there * 3.f;
    });
  });
  EXPECT_EQ(floats(f(filled("CPU:0", {4}, 1))), Floats(4, 6));
}

TEST(PlannedCopies, ThePolicyOfTheCallCounts) {
  auto f = function([](Tensor x) { return sum_on_gpu(x); });
  const Tensor x = filled("CPU:0", {4}, 0);
  EXPECT_EQ(floats(f(x)), Floats(4, 1));
  {
    const Policy explicit_only(CopyPolicy::kExplicit);
    EXPECT_THROW(f(x), InvalidArgumentError);
  }
  EXPECT_EQ(floats(f(x)), Floats(4, 1));
}

TEST(PlannedCopies, SmallIntegersMayBeAllowedAlone) {
  const Policy ints(CopyPolicy::kSilentForInt32);
  auto f = function([](Tensor n) { return on("/GPU:0", [&] { return n + 1; }); });
  EXPECT_EQ(f(constant({1, 2})).to_vector<int>(), (std::vector<int>{2, 3}));
  auto g = function([](Tensor x) { return on("/GPU:0", [&] { return x + 1.f; }); });
  EXPECT_THROW(g(filled("CPU:0", {2}, 1)), InvalidArgumentError);
}

TEST(PlannedCopies, WhatStaysOnItsDeviceIsNeverRefused) {
  const Policy explicit_only(CopyPolicy::kExplicit);
  auto f = function([](Tensor x) { return x * 2.f + 1.f; });
  EXPECT_EQ(floats(f(filled("GPU:0", {4}, 3))), Floats(4, 7));
}

const testing::Env kTinyGpu = {{"TANDEM_EMULATE_GPUS", "1"},
                               {"TANDEM_EMULATED_MEMORY_MB", "8"}};

// A chain of 24 values of 1 MiB, few of which are needed at a time.
Tensor deep(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < 12; ++i) y = matmul(y, x) + static_cast<float>(i);
  return y;
}

ALONE_TEST(MemoryLimit, APlanSaysByHowMuchItIsExceededBeforeItRuns, kTinyGpu) {
  const Tensor x = filled("GPU:0", {512, 512}, 0);
  const auto graph = testing::trace(
      [](const std::vector<Tensor>& in) { return std::vector<Tensor>{deep(in[0])}; },
      {x});
  GraphFunctionOptions options;
  options.optimize = false;  // every product stays
  GraphFunction f(graph, options);
  const auto planned = f.plan({&x, 1}, {.measure_kernels = false, .share_memory = false});
  const Plan& p = planned->plan;
  const std::string gpu = x.device();
  const PlanSpace* space = nullptr;
  for (const PlanSpace& s : p.spaces) {
    if (s.device == gpu) space = &s;
  }
  ASSERT_TRUE(space);
  const int64_t needed =
      space->bytes + space->result_bytes + space->constant_bytes + space->variable_bytes;
  EXPECT_GT(needed, 8 * kMiB);
  EXPECT_EQ(p.over_limit, needed - 8 * kMiB);
  EXPECT_EQ(p.over_device, gpu);
  EXPECT_NE(explain(*planned).find("exceeds the limit of GPU:0 by"), std::string::npos)
      << explain(*planned);
  // Running it says the same, and neither hurts what is there nor what comes after.
  Executable executable(planned);
  synchronize();
  const int64_t before = config::get_memory_usage("GPU:0");
  EXPECT_ERROR(executable.run({&x, 1}), ResourceExhaustedError,
               fmt::format("is exceeded by {} bytes", p.over_limit));
  EXPECT_ERROR(executable.run({&x, 1}), ResourceExhaustedError,
               fmt::format("needs {} bytes on {}", needed, gpu));
  synchronize();
  EXPECT_EQ(config::get_memory_usage("GPU:0"), before);
  EXPECT_EQ(floats(on("/GPU:0", [&] { return x + 1.f; }))[0], 1);
  // With memory that is shared the same graph fits.
  EXPECT_EQ(f.plan({&x, 1}, {.measure_kernels = false})->plan.over_limit, 0);
  EXPECT_EQ(floats(f.run({&x, 1})[0])[0], 11);
}

ALONE_TEST(MemoryLimit, WhatOthersHoldIsSaidToo, kTinyGpu) {
  const Tensor held = filled("GPU:0", {1280, 1024}, 1);  // 5 MiB
  const Tensor x = filled("GPU:0", {512, 512}, 0);
  auto f = function([](Tensor v) { return matmul(v, v) + matmul(v, v * 2.f); });
  EXPECT_ERROR(f(x).wait(), ResourceExhaustedError, "bytes on");
  EXPECT_EQ(floats(held)[0], 1);
}

TEST(Boundary, OpsRunWhereTheirScopeSays) {
  auto f = function([](Tensor x) {
    const Tensor mask = x > 0.f;
    return std::pair{on("/GPU:1", [&] { return where(mask); }),
                     on("/CPU:0", [&] { return where(mask); })};
  });
  const Tensor x = constant({1.f, -1.f, 1.f});
  const auto [there, here] = f(x);
  EXPECT_NE(there.device().find("GPU:1"), std::string::npos) << there.device();
  EXPECT_NE(here.device().find("CPU:0"), std::string::npos) << here.device();
  EXPECT_EQ(there.to_vector<int64_t>(), (std::vector<int64_t>{0, 2}));
}

TEST(CapturedTensors, OfADeviceKeepTheirIdentityOnATape) {
  for (const int64_t n : {int64_t{1}, int64_t{4}, int64_t{64}, int64_t{65}}) {
    const Tensor captured = filled("GPU:0", {n}, 3);
    auto f = function([&](Tensor x) { return reduce_sum(x * captured * captured); });
    GradientTape tape;
    tape.watch(captured);
    const Tensor y = f(filled("GPU:0", {n}, 2));
    const Gradient g = tape.gradient(y, captured);
    ASSERT_TRUE(g.defined()) << n;
    EXPECT_EQ(floats(g.dense()), Floats(static_cast<size_t>(n), 12)) << n;
  }
}

}  // namespace
}  // namespace tandem
