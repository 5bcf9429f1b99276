// The allocator on a real GPU.
#include "device/copy.h"
#include "gpu/gpu.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem::testing {
namespace {

using CudaMemory = GpuTest;

TEST_F(CudaMemory, CountsWhatIsInUse) {
  const int64_t before = gpu->allocator().info().current;
  const Allocation a = gpu->allocator().allocate(10 * kMiB, &gpu->compute());
  EXPECT_EQ(gpu->allocator().info().current - before, static_cast<int64_t>(10 * kMiB));
  gpu->allocator().free(a, {});
  EXPECT_EQ(gpu->allocator().info().current, before);
  EXPECT_GE(gpu->allocator().info().peak, static_cast<int64_t>(10 * kMiB));
}

TEST_F(CudaMemory, PagesMovedToOtherAddressesHoldTheirContents) {
  // Every second block of four stays in use and keeps its bytes while the free ones are
  // put together.
  Device& cpu = Runtime::get().cpu();
  std::vector<Allocation> all;
  std::vector<std::vector<uint8_t>> contents;
  for (int i = 0; i < 16; ++i) {
    all.push_back(gpu->allocator().allocate(8 * kMiB, &gpu->copy_in()));
    contents.emplace_back(8 * kMiB, static_cast<uint8_t>(i + 1));
    enqueue_copy({gpu, all.back().address}, {&cpu, contents.back().data()}, 8 * kMiB, {})
        .host_wait();
  }
  for (size_t i = 0; i < all.size(); i += 2) gpu->allocator().free(all[i], {});
  gpu->allocator().trim();
  const Allocation whole = gpu->allocator().allocate(64 * kMiB, &gpu->copy_in());
  std::vector<uint8_t> ones(64 * kMiB, 0xff);
  enqueue_copy({gpu, whole.address}, {&cpu, ones.data()}, ones.size(), {}).host_wait();
  for (size_t i = 1; i < all.size(); i += 2) {
    std::vector<uint8_t> back(8 * kMiB);
    enqueue_copy({&cpu, back.data()}, {gpu, all[i].address}, back.size(), {}).host_wait();
    EXPECT_EQ(back, contents[i]) << i;
    gpu->allocator().free(all[i], {});
  }
  gpu->allocator().free(whole, {});
}

TEST_F(CudaMemory, TooMuchIsResourceExhausted) {
  const int64_t limit = gpu->allocator().info().limit;
  EXPECT_GT(limit, 0);
  try {
    gpu->allocator().allocate(static_cast<size_t>(limit) + 1, &gpu->compute());
    FAIL() << "no error";
  } catch (const ResourceExhaustedError& e) {
    EXPECT_NE(std::string(e.what()).find("OOM when allocating tensor"),
              std::string::npos);
  }
}

TEST_F(CudaMemory, TrimGivesBytesBack) {
  const Allocation a = gpu->allocator().allocate(32 * kMiB, &gpu->compute());
  gpu->allocator().free(a, {});
  EXPECT_GE(gpu->allocator().trim(), 32 * kMiB);
}

// The whole message on a GPU that is said to be small.
ALONE_TEST(CudaOutOfMemory, ListsTheLargestByWhatTheyAre,
           {{"TANDEM_GPU_MEMORY_MB", "96"}}) {
  Device* gpu = real_gpu();
  if (!gpu) GTEST_SKIP() << why_no_gpu();
  const DeviceScope scope("/GPU:0");
  const Variable weights(fill({4 << 20}, constant(1.f)), {.name = "dense/kernel"});
  const Tensor sum = weights.read() + 1.f;
  auto f = function([](Tensor x) { return matmul(matmul(x, x), x); }, {.name = "cube"});
  const Tensor y = f(fill({1024, 1024}, constant(0.f)));
  for (int i = 0; i < 2; ++i) {
    try {
      fill({24 << 20}, constant(1.f)).wait();
      ADD_FAILURE() << "96 MiB were asked for, and some are in use";
    } catch (const ResourceExhaustedError& e) {
      const std::string text = e.what();
      for (const char* part :
           {"OOM when allocating tensor with 100663296 bytes", "limit 96.00MiB",
            "raise TANDEM_GPU_MEMORY_MB",
            "It was for: result of Fill, float32 [25165824]",
            "16.00MiB: value of variable 'dense/kernel', float32 [4194304]",
            "16.00MiB: result of AddV2, float32 [4194304]",
            "4.00MiB: result of cube, float32 [1024,1024]",
            "intermediate values of cube"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
      }
    }
  }
  EXPECT_EQ(floats(reduce_sum(sum))[0], 2.f * (4 << 20));
}

ALONE_TEST(CudaOutOfMemory, KernelsAreNotMeasuredWithoutMemoryForIt,
           {{"TANDEM_GPU_MEMORY_MB", "96"}, {"TANDEM_COST_STORE", "off"}}) {
  Device* gpu = real_gpu();
  if (!gpu) GTEST_SKIP() << why_no_gpu();
  const DeviceScope scope("/GPU:0");
  const Tensor x = fill({2048, 2048}, constant(0.f));  // 16 MiB, as the product
  const Tensor filler = fill({10 << 20}, constant(0.f));
  auto f = function([](Tensor v) { return matmul(v, v); });
  EXPECT_EQ(floats(reduce_sum(f(x)))[0], 0);
}

}  // namespace
}  // namespace tandem::testing
