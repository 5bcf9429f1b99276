// Many threads, the same tensors and devices.
#include <atomic>
#include <thread>

#include "emulated/run/gpu.h"

namespace tandem {
namespace {

using testing::filled;
using testing::Floats;
using testing::floats;
using testing::on;

template <class F>
void in_threads(int n, F&& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < n; ++t) threads.emplace_back([&body, t] { body(t); });
  for (auto& thread : threads) thread.join();
}

TEST(Threads, UseTheSameTensorsOnAllDevices) {
  const Tensor a = filled("GPU:0", {128}, 2), b = filled("CPU:0", {128}, 3);
  std::atomic<int> wrong{0};
  in_threads(4, [&](int t) {
    const char* devices[] = {"GPU:0", "GPU:1", "CPU:0"};
    for (int i = 0; i < 30; ++i) {
      const DeviceScope scope(devices[(t + i) % 3]);
      const Tensor c = a * b + a;
      if (floats(c) != Floats(128, 8)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, HandTensorsOnBeforeTheyAreReady) {
  const Tensor x = filled("GPU:0", {16, 16}, 1);
  std::vector<Tensor> made(4);
  in_threads(4, [&](int t) {
    const DeviceScope gpu("/GPU:0");
    made[static_cast<size_t>(t)] = testing::slowly(x * static_cast<float>(t), 3);
  });
  in_threads(4, [&](int t) {
    const DeviceScope gpu("/GPU:1");
    Tensor& mine = made[static_cast<size_t>(t)];
    mine = mine + made[static_cast<size_t>(t)];
  });
  for (size_t t = 0; t < 4; ++t)
    EXPECT_EQ(floats(made[t])[255], 2.f * static_cast<float>(t));
}

TEST(Threads, ReadAVariableWhileAnotherWritesIt) {
  Variable v = on("GPU:0", [] { return Variable(zeros({64})); });
  const Tensor one = filled("GPU:0", {64}, 1);
  std::atomic<int> torn{0};
  in_threads(4, [&](int t) {
    for (int i = 0; i < 40; ++i) {
      if (t % 2) {
        v.assign_add(one);
      } else {
        const Floats seen = floats(v.read());
        for (float x : seen) torn += x != seen[0];
      }
    }
  });
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(floats(v), Floats(64, 80));
}

TEST(Threads, CopyOneTensorToManyPlaces) {
  const Tensor x = filled("CPU:0", {1024}, 4);
  std::atomic<int> wrong{0};
  const CopyStats before = copy_stats();
  in_threads(4, [&](int t) {
    for (int i = 0; i < 10; ++i) {
      const Tensor there = x.to(t % 2 ? "GPU:0" : "GPU:1");
      if (floats(there) != Floats(1024, 4)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(copy_stats().count - before.count, 80);
}

TEST(Threads, SynchronizeAndMemoryInfoAreAskedMeanwhile) {
  const int64_t before = (synchronize(), config::get_memory_usage("GPU:0"));
  in_threads(4, [&](int t) {
    for (int i = 0; i < 20; ++i) {
      if (t == 0) {
        synchronize();
        config::get_memory_info("GPU:0");
        trim_memory("GPU:0");
        config::reset_memory_stats("GPU:0");
      } else {
        filled("GPU:0", {256}, static_cast<float>(i));
      }
    }
  });
  synchronize();
  EXPECT_EQ(config::get_memory_usage("GPU:0"), before);
}

TEST(Threads, TheLastHandleMayGoOnAnyThread) {
  const int64_t before = (synchronize(), config::get_memory_usage("GPU:0"));
  for (int i = 0; i < 20; ++i) {
    Tensor x = filled("GPU:0", {256}, 1);
    std::thread([y = std::move(x)]() mutable { y = Tensor(); }).join();
  }
  synchronize();
  EXPECT_EQ(config::get_memory_usage("GPU:0"), before);
}

}  // namespace
}  // namespace tandem
