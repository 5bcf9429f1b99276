// Memory of a GPU: what is counted, what happens at the limit, and that nothing stays
// behind.
#include <future>
#include <thread>

#include "device/runtime.h"
#include "emulated/run/gpu.h"
#include "plan/plan.h"
#include "run/executable.h"
#include "support/alone.h"
#include "support/traced.h"

namespace tandem {
namespace {

using testing::filled;
using testing::Floats;
using testing::floats;
using testing::kMiB;
using testing::on;

const testing::Env kOneSmallGpu = {{"TANDEM_EMULATE_GPUS", "1"},
                                   {"TANDEM_EMULATED_MEMORY_MB", "16"}};

int64_t used() {
  synchronize();
  return config::get_memory_usage("GPU:0");
}

TEST(Memory, UseAndPeakFollowTheTensors) {
  const int64_t before = used();
  config::reset_memory_stats("GPU:0");
  {
    const Tensor a = filled("GPU:0", {256, 1024}, 1);
    EXPECT_GE(used() - before, kMiB);
    EXPECT_LT(used() - before, 2 * kMiB);
  }
  EXPECT_EQ(used(), before);
  EXPECT_GE(config::get_memory_info("GPU:0").peak - before, kMiB);
  config::reset_memory_stats("GPU:0");
  EXPECT_EQ(config::get_memory_info("GPU:0").peak, before);
}

TEST(Memory, DevicesCountForThemselves) {
  const int64_t other = config::get_memory_usage("GPU:1");
  const Tensor a = filled("GPU:0", {1024}, 1);
  EXPECT_EQ(config::get_memory_usage("GPU:1"), other);
  EXPECT_THROW(config::get_memory_info("GPU:7"), ValueError);
}

TEST(Memory, TrimGivesCachedMemoryBackAndNothingElse) {
  const Tensor a = filled("GPU:0", {1024}, 4);
  {
    const Tensor b = filled("GPU:0", {1024, 1024}, 1);
  }
  synchronize();
  trim_memory("GPU:0");
  trim_memory();
  EXPECT_EQ(floats(a), Floats(1024, 4));
  EXPECT_EQ(floats(filled("GPU:0", {1024, 1024}, 2))[5], 2);
}

ALONE_TEST(Memory, PastTheLimitIsResourceExhaustedAndTheNextCallWorks, kOneSmallGpu) {
  const Tensor kept = filled("GPU:0", {kMiB}, 1);  // 4 MiB
  const int64_t before = used();
  EXPECT_EQ(config::get_memory_info("GPU:0").limit, 16 * kMiB);
  EXPECT_ERROR(filled("GPU:0", {8 * kMiB}, 1), ResourceExhaustedError, "GPU:0");
  EXPECT_ERROR(on("GPU:0", [&] { return concat({kept, kept, kept, kept}, {0}); }),
               ResourceExhaustedError, "OOM when allocating");
  EXPECT_EQ(used(), before);
  EXPECT_EQ(floats(on("GPU:0", [&] { return kept + kept; }))[0], 2);
  EXPECT_EQ(used(), before);
}

ALONE_TEST(Memory, CopiesPastTheLimitTooAndTheSourceIsThere, kOneSmallGpu) {
  const Tensor big = filled("CPU:0", {8 * kMiB}, 1);
  const int64_t before = used();
  EXPECT_THROW(big.to("GPU:0"), ResourceExhaustedError);
  EXPECT_THROW(on("GPU:0", [&] { return big + big; }), ResourceExhaustedError);
  EXPECT_EQ(used(), before);
  EXPECT_EQ(floats(big)[0], 1);
}

ALONE_TEST(Memory, AVariableSurvivesAnUpdateThatFindsNoRoom, kOneSmallGpu) {
  const DeviceScope gpu("/GPU:0");
  Variable v(fill({kMiB}, constant(1.f)));                       // 4 MiB
  const Tensor snapshot = v.read();                              // a write needs 4 more
  const Tensor delta = fill({kMiB}, constant(1.f));              // 8
  const Tensor filler = fill({kMiB + kMiB / 2}, constant(1.f));  // 14
  EXPECT_THROW(v.assign_add(delta), ResourceExhaustedError);
  EXPECT_EQ(floats(snapshot)[7], 1);
  EXPECT_EQ(floats(v)[7], 1);
}

ALONE_TEST(Memory, WaitsForPendingWorkBeforeItGivesUp, kOneSmallGpu) {
  const DeviceScope gpu("/GPU:0");
  Tensor x = fill({kMiB}, constant(0.f));
  const Tensor one = fill({kMiB}, constant(1.f));
  // Each step frees the one before; all of them together would not fit.
  for (int i = 0; i < 40; ++i) x = x + one;
  EXPECT_EQ(floats(x)[3], 40);
}

ALONE_TEST(Memory, ALogicalDevicesLimitHolds, {{"TANDEM_EMULATE_GPUS", "1"}}) {
  const auto gpus = config::list_physical_devices("GPU");
  config::set_logical_device_configuration(gpus[0], {{8.0, {}}, {2.0, {}}});
  EXPECT_EQ(device_count("GPU"), 2);
  EXPECT_EQ(config::get_memory_info("GPU:1").limit, 2 * kMiB);
  const Tensor fits = filled("GPU:0", {kMiB}, 1);
  EXPECT_THROW(filled("GPU:1", {kMiB}, 1), ResourceExhaustedError);
  EXPECT_EQ(floats(filled("GPU:1", {16}, 3)), Floats(16, 3));
}

ALONE_TEST(Memory, FailuresLeakNothing, kOneSmallGpu) {
  const int64_t before = used();
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(filled("GPU:0", {8 * kMiB}, 1), ResourceExhaustedError);
    const Tensor bad = on("GPU:0", [] {
      return gather(fill({1024}, constant(1.f)),
                    cast(fill({1024}, constant(-3.f)), int32));
    });
    EXPECT_THROW(floats(bad), InvalidArgumentError);
  }
  EXPECT_EQ(used(), before);
}

TEST(Memory, RecordedWorkIsFreedWithItsTape) {
  const int64_t before = used();
  {
    const DeviceScope gpu("/GPU:0");
    const Variable w(fill({64, 64}, constant(0.1f)));
    GradientTape tape;
    Tensor y = w;
    for (int i = 0; i < 5; ++i) y = matmul(y, w);
    const auto [dw] = tape.gradient(y, {w});
    dw.dense().wait();
  }
  EXPECT_EQ(used(), before);
}

// Another plan has taken its place: the memory of a call that still uses it goes when the
// call ends.
TEST(Memory, ARetiredPlanGivesItsMemoryBackWhenTheLastCallEnds) {
  Device& gpu = Runtime::get().named("GPU:0");
  const std::vector<Tensor> x = {on("/GPU:0", [] { return eye(64); })};
  const auto graph = testing::trace(
      [](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{matmul(matmul(in[0], in[0]), in[0])};
      },
      x);
  const std::vector<Device*> devices = {&gpu};
  PlanOptions options;
  options.measure_kernels = false;
  Executable plan(make_plan(*graph, devices, options));
  const auto bytes = [&] { return plan.frame_bytes(gpu.full_name()); };
  x[0].wait();
  std::promise<void> gate;
  gpu.compute().submit([&](const StreamContext&) { gate.get_future().wait(); });
  // A first call waits for its device.
  std::thread call([&] { plan.run(x); });
  while (bytes() == 0) std::this_thread::yield();
  plan.retire();
  EXPECT_GT(bytes(), 0);
  gate.set_value();
  call.join();
  EXPECT_EQ(bytes(), 0);
  // A call that had chosen it before is served all the same.
  EXPECT_EQ(floats(plan.run(x)[0]), floats(x[0]));
  EXPECT_EQ(bytes(), 0);
}

// Who lets a function go does not wait for its device; its memory goes later.
std::unique_ptr<Function> products_on_gpu() {
  return std::make_unique<Function>([](const std::vector<Argument>& a) {
    const Tensor t = std::get<Tensor>(a[0].value()), u = std::get<Tensor>(a[1].value());
    return std::vector<Tensor>{on("GPU:0", [&] { return matmul(matmul(t, u), t); })};
  });
}

TEST(Memory, AFunctionIsDroppedWhileItsDeviceWorksForIt) {
  Device& gpu = Runtime::get().named("GPU:0");
  const Tensor x = filled("GPU:0", {64, 64}, 1), y = filled("CPU:0", {64, 64}, 1);
  const auto make = products_on_gpu;
  (*make())({x, y})[0].wait();
  const int64_t before = used();
  auto first = make(), second = make();
  for (auto* f : {&first, &second}) (**f)({x, y})[0].wait();
  EXPECT_GT(used(), before);
  std::promise<void> gate;
  gpu.compute().submit([&](const StreamContext&) { gate.get_future().wait(); });
  for (auto* f : {&first, &second}) (**f)({x, y});
  first.reset();
  second.reset();
  gate.set_value();
  synchronize();
  (*make())({x, y})[0].wait();
  EXPECT_EQ(used(), before);
}

// Who needs memory gets that of functions which are gone, eagerly and in a call, and also
// from calls of the same function, whose plans share a lock.
ALONE_TEST(Memory, OfDroppedFunctionsIsThereForOthers, kOneSmallGpu) {
  Device& gpu = Runtime::get().named("GPU:0");
  const Tensor x = filled("GPU:0", {512, 512}, 1);
  for (const bool eager : {true, false}) {
    auto dropped = products_on_gpu(), other = products_on_gpu();
    (*dropped)({x, x})[0].wait();
    std::promise<void> gate;
    gpu.compute().submit([&](const StreamContext&) { gate.get_future().wait(); });
    (*dropped)({x, x});
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      gate.set_value();
    });
    dropped.reset();
    const Tensor most = filled("GPU:0", {11, 512, 512}, 1);
    const Tensor result = eager ? filled("GPU:0", {2, 512, 512}, 3) : (*other)({x, x})[0];
    opener.join();
    EXPECT_EQ(floats(result)[5], eager ? 3 : 512 * 512);
  }
}

}  // namespace
}  // namespace tandem
