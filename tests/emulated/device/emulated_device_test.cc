// The emulated GPU as the runtime opens it: copies, errors, synchronisation, exit.
#include <chrono>
#include <cstring>
#include <future>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>

#include "base/recorder.h"
#include "device/copy.h"
#include "device/runtime.h"
#include "support/alone.h"
#include "tandem/device.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::Env;
using Clock = std::chrono::steady_clock;

Env gpus(const char* count, Env more = {}) {
  more.push_back({"TANDEM_EMULATE_GPUS", count});
  return more;
}

Device& gpu(int index = 0) { return *Runtime::get().find("GPU", index); }
Device& cpu() { return Runtime::get().cpu(); }

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

ALONE_TEST(EmulatedDevice, SaysThatItIsEmulated, gpus("1")) {
  EXPECT_TRUE(gpu().emulated());
  EXPECT_FALSE(gpu().is_host());
  EXPECT_EQ(gpu().type(), "GPU");
  EXPECT_EQ(gpu().platform(), kHostPlatform);
  EXPECT_EQ(gpu().compute().lane(), "GPU:0/compute");
  EXPECT_EQ(config::get_memory_info("GPU:0").limit, int64_t{4096} << 20);
}

ALONE_TEST(EmulatedDevice, HostAccessToItsMemoryFaults, gpus("1")) {
  const Allocation a = gpu().allocator().allocate(64, &gpu().compute());
  struct sigaction action = {};
  action.sa_handler = [](int) { testing::alone_exit(); };
  ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  *static_cast<volatile int*>(a.address) = 1;
  FAIL() << "written";
}

ALONE_TEST(EmulatedDevice, TasksSeeTheMemoryThroughTheOffset, gpus("1")) {
  const Allocation a = gpu().allocator().allocate(sizeof(int), &gpu().compute());
  gpu().compute().submit([&](const StreamContext& context) {
    EXPECT_EQ(context.device, &gpu());
    *reinterpret_cast<int*>(static_cast<std::byte*>(a.address) + context.address_offset) =
        5;
    EXPECT_EQ(current_team(), gpu().team());
  });
  int result = 0;
  enqueue_copy({&cpu(), &result}, {&gpu(), a.address}, sizeof(int), gpu().compute().now())
      .host_wait();
  EXPECT_EQ(result, 5);
  synchronize();
}

ALONE_TEST(EmulatedDevice, CopiesThereAcrossAndBack, gpus("2")) {
  std::vector<int> source(100000), target(100000);
  std::iota(source.begin(), source.end(), 1);
  const size_t bytes = source.size() * sizeof(int);
  const Allocation a = gpu(0).allocator().allocate(bytes, &gpu(0).copy_in());
  const Allocation b = gpu(1).allocator().allocate(bytes, &gpu(1).copy_in());
  const CopyStats before = copy_stats();
  recorder::start();
  const TimePoint in =
      enqueue_copy({&gpu(0), a.address}, {&cpu(), source.data()}, bytes, {});
  const TimePoint across =
      enqueue_copy({&gpu(1), b.address}, {&gpu(0), a.address}, bytes, in);
  const TimePoint out =
      enqueue_copy({&cpu(), target.data()}, {&gpu(1), b.address}, bytes, across);
  EXPECT_EQ(in.stream, &gpu(0).copy_in());
  EXPECT_EQ(across.stream, &gpu(1).copy_in());
  EXPECT_EQ(out.stream, &gpu(1).copy_out());
  out.host_wait();
  recorder::stop();
  EXPECT_EQ(source, target);
  EXPECT_EQ(copy_stats().count, before.count + 3);
  EXPECT_EQ(copy_stats().bytes, before.bytes + 3 * static_cast<int64_t>(bytes));

  std::vector<std::string> copies;
  for (const auto& event : recorder::collect()) {
    if (event.kind != recorder::Kind::kCopy) continue;
    copies.push_back(std::string(event.lane) + " " + event.name);
    EXPECT_EQ(event.bytes, static_cast<int64_t>(bytes));
    EXPECT_GE(event.end_ns - event.begin_ns, 10000);  // at least the latency
  }
  EXPECT_EQ(copies, (std::vector<std::string>{"GPU:0/copy_in H2D", "GPU:1/copy_in D2D",
                                              "GPU:1/copy_out D2H"}));
}

ALONE_TEST(EmulatedDevice, CopiesTakeTheTimeOfTheLink,
           gpus("1", {{"TANDEM_EMULATED_BANDWIDTH_GBPS", "0.1"},
                      {"TANDEM_EMULATED_LATENCY_US", "2000"}})) {
  constexpr size_t kBytes = 1000000;  // 10 ms at 0.1 GB/s
  std::vector<std::byte> host(kBytes);
  const Allocation a = gpu().allocator().allocate(kBytes, &gpu().copy_in());
  const Allocation b = gpu().allocator().allocate(kBytes, &gpu().copy_in());
  const auto begin = Clock::now();
  enqueue_copy({&gpu(), a.address}, {&cpu(), host.data()}, kBytes, {});
  const TimePoint two =
      enqueue_copy({&gpu(), b.address}, {&cpu(), host.data()}, kBytes, {});
  two.host_wait();
  EXPECT_GE(seconds_since(begin), 0.024);
  gpu().copy(gpu().compute(), a.address, b.address, kBytes).host_wait();  // off the link
}

ALONE_TEST(EmulatedDevice, KernelsTakeTheTimeOfASlowerDevice,
           gpus("1", {{"TANDEM_EMULATED_SPEED", "0.2"}})) {
  const auto cpu_seconds = [] {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  };
  double computed = 0;
  const auto work = [&](const StreamContext&) {
    const double begin = cpu_seconds();
    while ((computed = cpu_seconds() - begin) < 0.01) {
    }
  };
  const auto begin = Clock::now();
  gpu().compute().submit(work).host_wait();
  EXPECT_GE(seconds_since(begin), 5 * computed);
  // Copies have a link of their own; a stream at full speed owes nothing.
  recorder::start();
  gpu().copy_in().submit(work).host_wait();
  recorder::stop();
  for (const auto& event : recorder::collect()) EXPECT_STRNE(event.name, "modelled time");
}

ALONE_TEST(EmulatedDevice, StreamsDoNotWaitForEachOther, gpus("1")) {
  int in = 1, out = 0;
  const Allocation a = gpu().allocator().allocate(64, nullptr);
  std::promise<void> gate;
  gpu().compute().submit(
      [opened = gate.get_future().share()](const StreamContext&) { opened.wait(); });
  // Both copies pass while the compute stream is busy.
  const TimePoint copied =
      enqueue_copy({&gpu(), a.address}, {&cpu(), &in}, sizeof in, {});
  enqueue_copy({&cpu(), &out}, {&gpu(), a.address}, sizeof out, copied).host_wait();
  EXPECT_EQ(out, 1);
  EXPECT_FALSE(gpu().compute().now().passed());
  gate.set_value();
  synchronize();
}

ALONE_TEST(EmulatedDevice, BadLinkSettingsAreValueErrors,
           gpus("1", {{"TANDEM_EMULATED_BANDWIDTH_GBPS", "-1"}})) {
  EXPECT_ERROR(config::list_physical_devices(), ValueError,
               "TANDEM_EMULATED_BANDWIDTH_GBPS must not be negative");
  setenv("TANDEM_EMULATED_BANDWIDTH_GBPS", "fast", 1);
  EXPECT_ERROR(config::list_physical_devices(), ValueError, "a number is expected");
}

ALONE_TEST(EmulatedDevice, SynchronizeThrowsTheErrorOnce, gpus("2")) {
  gpu(1).compute().submit(
      [](const StreamContext&) { throw OutOfRangeError("index 7 is not in [0, 5)"); });
  gpu(0).compute().submit([](const StreamContext&) {});
  EXPECT_ERROR(synchronize(), OutOfRangeError, "index 7 is not in [0, 5)");
  synchronize();
  gpu(1).copy_in().submit([](const StreamContext&) { throw AbortedError("copy"); });
  synchronize("GPU:0");
  EXPECT_ERROR(synchronize("GPU:1"), AbortedError, "copy");
}

ALONE_TEST(EmulatedDevice, FailsAtItsLimit,
           gpus("1", {{"TANDEM_EMULATED_MEMORY_MB", "16"}})) {
  auto& allocator = gpu().allocator();
  EXPECT_ERROR(
      allocator.allocate(17 << 20, nullptr), ResourceExhaustedError,
      "on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_emulated: "
      "limit 16.00MiB");
  const Allocation all = allocator.allocate(16 << 20, nullptr);
  EXPECT_EQ(config::get_memory_info("GPU:0").current, 16 << 20);
  allocator.free(all, {});
  trim_memory("GPU:0");
}

ALONE_TEST(EmulatedDevice, LogicalDevicesShareThePhysicalMemory,
           gpus("1", {{"TANDEM_EMULATED_MEMORY_MB", "64"}})) {
  config::set_logical_device_configuration(
      config::list_physical_devices("GPU")[0],
      {{.memory_limit = 16, .priority = {}}, {.memory_limit = 48, .priority = {}}});
  EXPECT_THROW(gpu(0).allocator().allocate(20 << 20, nullptr), ResourceExhaustedError);
  const Allocation a = gpu(1).allocator().allocate(20 << 20, nullptr);
  EXPECT_ERROR(gpu(0).allocator().allocate(20 << 20, nullptr), ResourceExhaustedError,
               "memory_limit in set_logical_device_configuration");
  gpu(1).allocator().free(a, {});
}

ALONE_TEST(EmulatedDevice, HostMemoryIsKeptWhileACopyReadsIt, gpus("1")) {
  constexpr size_t kBytes = 4 << 20;
  auto& host = cpu().allocator();
  const Allocation source = host.allocate(kBytes, nullptr);
  std::memset(source.address, 3, kBytes);
  const Allocation target = gpu().allocator().allocate(kBytes, &gpu().copy_in());
  std::promise<void> gate;
  gpu().copy_in().submit(
      [opened = gate.get_future().share()](const StreamContext&) { opened.wait(); });
  const TimePoint copied =
      enqueue_copy({&gpu(), target.address}, {&cpu(), source.address}, kBytes, {});
  host.free(source, std::span(&copied, 1));
  const Allocation other = host.allocate(kBytes, nullptr);
  EXPECT_NE(other.address, source.address);
  std::memset(other.address, 9, kBytes);
  gate.set_value();
  std::vector<char> back(kBytes);
  enqueue_copy({&cpu(), back.data()}, {&gpu(), target.address}, kBytes, copied)
      .host_wait();
  EXPECT_EQ(back, std::vector<char>(kBytes, 3));
  host.free(other, {});
}

/// Frees memory when static objects die, after the runtime has joined its threads.
struct LateFree {
  Allocation allocation;
  TimePoint use;
  ~LateFree() {
    if (!allocation.address) return;
    gpu().allocator().free(allocation, std::span(&use, 1));
    if (!use.passed()) _exit(3);
  }
} late_free;

ALONE_TEST(EmulatedDevice, ExitDrainsTheStreams, gpus("1")) {
  late_free.allocation = gpu().allocator().allocate(64, &gpu().compute());
  for (int i = 0; i < 10; ++i) {
    late_free.use = gpu().compute().submit([](const StreamContext&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
  }
}

ALONE_TEST(EmulatedDevice, ManyThreadsComputeAndCopy, gpus("2")) {
  constexpr size_t kCount = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      Device& device = gpu(t % 2);
      for (int i = 0; i < 50; ++i) {
        std::vector<int> in(kCount, t * 100 + i), out(kCount);
        const size_t bytes = kCount * sizeof(int);
        const Allocation a = device.allocator().allocate(bytes, &device.copy_in());
        const TimePoint copied =
            enqueue_copy({&device, a.address}, {&cpu(), in.data()}, bytes, {});
        device.compute().wait(copied);
        const TimePoint computed = device.compute().submit([=](const StreamContext& c) {
          auto* x = reinterpret_cast<int*>(static_cast<std::byte*>(a.address) +
                                           c.address_offset);
          parallel_for(kCount, 100, [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k) x[k] *= 2;
          });
        });
        const TimePoint back =
            enqueue_copy({&cpu(), out.data()}, {&device, a.address}, bytes, computed);
        const TimePoint uses[] = {copied, computed, back};
        device.allocator().free(a, uses);
        back.host_wait();
        EXPECT_EQ(out, std::vector<int>(kCount, 2 * (t * 100 + i)));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  synchronize();
  EXPECT_EQ(config::get_memory_usage("GPU:0"), 0);
  EXPECT_EQ(config::get_memory_usage("GPU:1"), 0);
}

}  // namespace
}  // namespace tandem
