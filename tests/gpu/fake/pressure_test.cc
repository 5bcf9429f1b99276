// The allocator when the pretended GPU's memory runs short, as when another process has
// taken it.
#include "gpu/fake/gpu.h"
#include "tandem/error.h"

namespace tandem::testing {
namespace {

class FakePressure : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    if (!gpu) return;
    gpu->allocator().trim();
    base_ = fake::memory_in_use();
  }
  void TearDown() override {
    fake::set_memory(size_t{24} << 30);
    FakeGpuTest::TearDown();
  }
  /// As if so much were left on the GPU.
  void leave(size_t bytes) { fake::set_memory(base_ + bytes); }
  Allocation take(size_t bytes) {
    return gpu->allocator().allocate(bytes, &gpu->compute());
  }
  void give(const Allocation& a) { gpu->allocator().free(a, {}); }
  size_t base_ = 0;
};

TEST_F(FakePressure, TrimGivesEveryFreePageBack) {
  const Allocation a = take(40 * kMiB), b = take(1000);
  EXPECT_GE(fake::memory_in_use(), base_ + 40 * kMiB);
  give(a);
  EXPECT_GE(fake::memory_in_use(), base_ + 40 * kMiB) << "kept for the next request";
  gpu->allocator().trim();
  EXPECT_LE(fake::memory_in_use(), base_ + 4 * kMiB);
  give(b);
  gpu->allocator().trim();
  EXPECT_EQ(fake::memory_in_use(), base_);
}

TEST_F(FakePressure, FreePagesInPiecesServeALargeRequest) {
  leave(64 * kMiB);
  std::vector<Allocation> all;
  for (int i = 0; i < 8; ++i) all.push_back(take(8 * kMiB));
  EXPECT_THROW(take(8 * kMiB), ResourceExhaustedError);
  for (size_t i = 0; i < all.size(); i += 2) give(all[i]);
  const Allocation whole = take(32 * kMiB);
  EXPECT_THROW(take(2 * kMiB), ResourceExhaustedError);
  give(whole);
  for (size_t i = 1; i < all.size(); i += 2) give(all[i]);
}

TEST_F(FakePressure, AFailedRequestTakesNothing) {
  leave(16 * kMiB);
  const size_t before = fake::memory_in_use();
  const int64_t counted = gpu->allocator().info().current;
  EXPECT_THROW(take(20 * kMiB), ResourceExhaustedError);
  EXPECT_EQ(gpu->allocator().info().current, counted);
  gpu->allocator().trim();
  EXPECT_EQ(fake::memory_in_use(), before);
  give(take(16 * kMiB));
}

TEST_F(FakePressure, RunningOutSaysWhatIsInUse) {
  const DeviceScope scope("/GPU:0");
  leave(48 * kMiB);
  const Tensor large = zeros({4 << 20});
  EXPECT_ERROR(zeros({16 << 20}).wait(), ResourceExhaustedError, "in use 16.00MiB");
  EXPECT_ERROR(zeros({16 << 20}).wait(), ResourceExhaustedError,
               "\n  16.00MiB: result of Empty, float32 [4194304]");
  // 32 MiB are there, but the others are another program's.
  EXPECT_ERROR(zeros({16 << 20}).wait(), ResourceExhaustedError,
               "other programs or libraries hold the rest. Drop");
}

// Memory that a step in flight still reads is not handed out to another stream.
TEST_F(FakePressure, MemoryInUseByAnotherStreamIsNotHandedOut) {
  fake::run_at_once(false);
  const Allocation a = take(8 * kMiB);
  std::vector<uint8_t> bytes(16);
  const TimePoint use = gpu->copy(gpu->compute(), a.address, bytes.data(), 16);
  gpu->allocator().free(a, {&use, 1});
  const Allocation other = gpu->allocator().allocate(8 * kMiB, &gpu->copy_in());
  EXPECT_NE(other.address, a.address);
  // The stream that used it last may have it at once.
  const Allocation same = take(8 * kMiB);
  EXPECT_EQ(same.address, a.address);
  give(other);
  give(same);
}

}  // namespace
}  // namespace tandem::testing
