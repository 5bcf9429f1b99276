// Streams, points in time and captured work of a real GPU.
#include <atomic>
#include <thread>

#include "device/copy.h"
#include "device/cuda/driver.h"
#include "gpu/gpu.h"
#include "tandem/error.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

using CudaStreams = GpuTest;

void fill_bytes(const StreamContext& context, void* at, unsigned char value,
                size_t bytes) {
  cuda::check(
      cuda::driver().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(at), value, bytes,
                                     static_cast<CUstream>(context.native)),
      "fill");
}

std::vector<uint8_t> read(Device& gpu, void* at, size_t bytes, TimePoint ready) {
  std::vector<uint8_t> back(bytes);
  enqueue_copy({&Runtime::get().cpu(), back.data()}, {&gpu, at}, bytes, ready)
      .host_wait();
  return back;
}

TEST_F(CudaStreams, TasksRunAtOnceWithANativeStream) {
  bool ran = false;
  const TimePoint point = gpu->compute().submit([&](const StreamContext& context) {
    ran = true;
    EXPECT_NE(context.native, nullptr);
    EXPECT_EQ(context.device, gpu);
    EXPECT_EQ(context.address_offset, 0);
  });
  EXPECT_TRUE(ran);
  point.host_wait();
  EXPECT_TRUE(point.passed());
}

TEST_F(CudaStreams, OneStreamWaitsForAnother) {
  constexpr size_t kBytes = 64 << 20;
  const Allocation a = gpu->allocator().allocate(kBytes, &gpu->compute());
  TimePoint last;
  for (int i = 1; i <= 20; ++i) {
    last = gpu->compute().submit([&, i](const StreamContext& c) {
      fill_bytes(c, a.address, static_cast<unsigned char>(i), kBytes);
    });
  }
  EXPECT_EQ(read(*gpu, a.address, kBytes, last), std::vector<uint8_t>(kBytes, 20));
  gpu->allocator().free(a, {});
}

TEST_F(CudaStreams, ATaskThatThrowsLeavesItsErrorWithTheStream) {
  gpu->compute().submit(
      [](const StreamContext&) { throw InvalidArgumentError("thrown by a task"); });
  EXPECT_THROW(gpu->synchronize(), InvalidArgumentError);
  EXPECT_NO_THROW(gpu->synchronize());
}

TEST_F(CudaStreams, SeveralThreadsSubmit) {
  const Allocation a = gpu->allocator().allocate(1 << 20, &gpu->compute());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const TimePoint p = gpu->compute().submit(
            [&](const StreamContext& c) { fill_bytes(c, a.address, 7, 1 << 20); });
        if (i % 50 == 0) p.host_wait();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(read(*gpu, a.address, 1 << 20, gpu->compute().now()),
            std::vector<uint8_t>(1 << 20, 7));
  gpu->allocator().free(a, {});
}

// More copies at once than there are page-locked blocks: nobody gets a block whose
// contents somebody still has to take.
TEST_F(CudaStreams, ManyThreadsCopyAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 24; ++t) {
    threads.emplace_back([&, t] {
      const DeviceScope scope("/GPU:0");
      for (int i = 0; i < 200; ++i) {
        const auto k = static_cast<float>(t * 1000 + i);
        const Tensor x = constant({k, k + 1, k + 2});
        if (x.to_vector<float>() != std::vector<float>{k, k + 1, k + 2}) ++wrong;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CudaStreams, CapturedWorkReplays) {
  constexpr size_t kBytes = 4096;
  const Allocation a = gpu->allocator().allocate(2 * kBytes, &gpu->compute());
  auto* const second = static_cast<std::byte*>(a.address) + kBytes;
  int calls = 0;
  const auto captured = gpu->compute().capture([&](const StreamContext& context) {
    ++calls;
    cuda::check(
        cuda::driver().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(second),
                                         reinterpret_cast<CUdeviceptr>(a.address), kBytes,
                                         static_cast<CUstream>(context.native)),
        "copy");
  });
  ASSERT_NE(captured, nullptr);
  EXPECT_EQ(calls, 1);
  for (unsigned char value : {3, 8, 200}) {
    gpu->compute().submit(
        [&](const StreamContext& c) { fill_bytes(c, a.address, value, kBytes); });
    const TimePoint done = captured->launch();
    EXPECT_EQ(read(*gpu, second, kBytes, done), std::vector<uint8_t>(kBytes, value));
  }
  EXPECT_EQ(calls, 1);
  gpu->allocator().free(a, {});
}

TEST_F(CudaStreams, ACaptureThatThrowsLeavesTheStreamUsable) {
  EXPECT_THROW(gpu->compute().capture([](const StreamContext&) {
    throw InvalidArgumentError("cannot be captured");
  }),
               InvalidArgumentError);
  EXPECT_NO_THROW(gpu->compute().submit([](const StreamContext&) {}).host_wait());
}

}  // namespace
}  // namespace tandem::testing
