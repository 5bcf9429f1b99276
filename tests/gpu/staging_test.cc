// Copies between pageable memory and a real GPU: any size and alignment, many threads,
// both directions at once, sources that change right after the call.
#include <atomic>
#include <cstring>
#include <thread>

#include "device/copy.h"
#include "device/cuda/driver.h"
#include "gpu/gpu.h"

namespace tandem::testing {
namespace {

using CudaStaging = GpuTest;

std::vector<uint8_t> bytes_of(size_t n, size_t seed) {
  std::vector<uint8_t> all(n);
  for (size_t i = 0; i < n; ++i) {
    all[i] = static_cast<uint8_t>((i * 2654435761u + seed) >> 13);
  }
  return all;
}

struct Offsets {
  size_t from = 0, there = 0, back = 0;
};

/// Whether bytes survive the way there and back, from and to addresses with these
/// offsets; the source is spoiled as soon as the copy was given.
bool survive(Device& gpu, size_t n, size_t seed, Offsets offsets = {}) {
  Device& cpu = Runtime::get().cpu();
  const std::vector<uint8_t> wanted = bytes_of(n, seed);
  std::vector<uint8_t> from(n + offsets.from), back(n + offsets.back + 1, 0xEE);
  std::memcpy(from.data() + offsets.from, wanted.data(), n);
  const Allocation a = gpu.allocator().allocate(n + offsets.there, &gpu.copy_in());
  auto* const there = static_cast<std::byte*>(a.address) + offsets.there;
  const TimePoint in =
      enqueue_copy({&gpu, there}, {&cpu, from.data() + offsets.from}, n, {});
  std::fill(from.begin(), from.end(), 0);
  const TimePoint out =
      enqueue_copy({&cpu, back.data() + offsets.back}, {&gpu, there}, n, in);
  out.host_wait();
  const TimePoint uses[] = {in, out};
  gpu.allocator().free(a, uses);
  return std::memcmp(back.data() + offsets.back, wanted.data(), n) == 0 &&
         back.back() == 0xEE && out.passed();
}

TEST_F(CudaStaging, BytesSurviveWhateverTheirNumberAndPlace) {
  for (size_t n : {size_t{1}, size_t{3}, size_t{4097}, kMiB / 2 - 1, kMiB / 2 + 1, kMiB,
                   2 * kMiB + 13, 4 * kMiB, 8 * kMiB - 1, 31 * kMiB + 5, 32 * kMiB,
                   33 * kMiB, 100 * kMiB + 12345}) {
    EXPECT_TRUE(survive(*gpu, n, n)) << n;
    EXPECT_TRUE(survive(*gpu, n, n + 1, {.from = 1, .there = 4, .back = 0})) << n;
    EXPECT_TRUE(survive(*gpu, n, n + 2, {.from = 63, .there = 1, .back = 7})) << n;
  }
}

TEST_F(CudaStaging, ManyThreadsCopyBothWaysAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 12; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 6; ++i) {
        const size_t n = (t % 3 == 0 ? 70 * kMiB : t % 3 == 1 ? 3 * kMiB : 100) + t + i;
        wrong += !survive(*gpu, n, 10 * t + i, {.from = i, .there = t, .back = i});
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// What the GPU computes from a large copy, and what is fetched of it, in stream order.
TEST_F(CudaStaging, WorkComesAfterTheCopyThatItReads) {
  const DeviceScope scope("/GPU:0");
  constexpr int64_t kCount = 12 << 20;
  Floats values(kCount);
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>((i * 7 + static_cast<size_t>(round)) % 1000);
    }
    const Tensor x = constant(values);
    std::fill(values.begin(), values.end(), -1.0f);  // it was read by now
    const Floats twice = floats(x + x);
    size_t wrong = 0;
    for (size_t i = 0; i < twice.size(); ++i) {
      wrong +=
          twice[i] != 2 * static_cast<float>((i * 7 + static_cast<size_t>(round)) % 1000);
    }
    EXPECT_EQ(wrong, 0u) << round;
  }
}

// A result is fetched while the GPU still computes it: the copy comes after.
TEST_F(CudaStaging, AFetchComesAfterTheWorkThatItReads) {
  constexpr size_t kBytes = 80 * kMiB;
  const Allocation a = gpu->allocator().allocate(kBytes, &gpu->compute());
  std::vector<uint8_t> back(kBytes);
  for (int value = 1; value <= 3; ++value) {
    const TimePoint filled = gpu->compute().submit([&](const StreamContext& c) {
      for (int again = 0; again < 20; ++again) {
        cuda::check(cuda::driver().cuMemsetD8Async(
                        reinterpret_cast<CUdeviceptr>(a.address),
                        static_cast<unsigned char>(again < 19 ? 99 : value), kBytes,
                        static_cast<CUstream>(c.native)),
                    "fill");
      }
    });
    enqueue_copy({&Runtime::get().cpu(), back.data()}, {gpu, a.address}, kBytes, filled)
        .host_wait();
    EXPECT_EQ(back, std::vector<uint8_t>(kBytes, static_cast<uint8_t>(value)));
  }
  gpu->allocator().free(a, {});
}

TEST_F(CudaStaging, PageLockedMemoryIsGivenBackAndTakenAgain) {
  EXPECT_TRUE(survive(*gpu, 50 * kMiB, 1));
  EXPECT_GE(gpu->allocator().trim(), 8 * kMiB);
  EXPECT_TRUE(survive(*gpu, 50 * kMiB, 2));
}

}  // namespace
}  // namespace tandem::testing
