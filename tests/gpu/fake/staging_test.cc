// Copies between pageable memory and the pretended GPU: pieces, page-locked blocks and
// the threads that fill and empty them.
#include <atomic>
#include <cstring>
#include <thread>

#include "device/copy.h"
#include "gpu/fake/gpu.h"
#include "tandem/error.h"
#include "tensor/transfer.h"

namespace tandem::testing {
namespace {

// More than all page-locked blocks hold, and no multiple of anything.
constexpr size_t kMoreThanBlocks = 41 * kMiB + 12345;

using FakeStaging = FakeGpuTest;

std::vector<uint8_t> bytes_of(size_t n, size_t seed) {
  std::vector<uint8_t> all(n);
  for (size_t i = 0; i < n; ++i) {
    all[i] = static_cast<uint8_t>((i * 2654435761u + seed) >> 13);
  }
  return all;
}

/// There and back on a device's streams, at an address that is aligned to nothing.
std::vector<uint8_t> round_trip(Device& gpu, std::vector<uint8_t> from, bool spoil) {
  const size_t n = from.size();
  const Allocation a = gpu.allocator().allocate(n + 3, &gpu.copy_in());
  auto* const there = static_cast<std::byte*>(a.address) + 3;
  Device& cpu = Runtime::get().cpu();
  const TimePoint in = enqueue_copy({&gpu, there}, {&cpu, from.data()}, n, {});
  if (spoil) std::fill(from.begin(), from.end(), 0);
  std::vector<uint8_t> back(n + 1, 0xEE);
  const TimePoint out = enqueue_copy({&cpu, back.data()}, {&gpu, there}, n, in);
  out.host_wait();
  EXPECT_TRUE(out.passed());
  EXPECT_EQ(back.back(), 0xEE);
  back.pop_back();
  const TimePoint uses[] = {in, out};
  gpu.allocator().free(a, uses);
  return back;
}

TEST_F(FakeStaging, BytesComeThereAndBackWhateverTheirNumber) {
  for (bool at_once : {true, false}) {
    fake::run_at_once(at_once);
    for (size_t n : {size_t{1}, size_t{4095}, kMiB / 2, kMiB / 2 + 1, kMiB, 4 * kMiB - 1,
                     17 * kMiB + 7, 32 * kMiB + 1, kMoreThanBlocks}) {
      const std::vector<uint8_t> from = bytes_of(n, n);
      // The source may change as soon as the copy was given.
      ASSERT_EQ(round_trip(*gpu, from, /*spoil=*/true), from) << n << at_once;
    }
  }
}

TEST_F(FakeStaging, SmallCopiesAreOnePieceAndLargeOnesSeveral) {
  const auto pieces = [&](size_t n) {
    fake::take_log();
    round_trip(*gpu, bytes_of(n, 1), false);
    const Lines log = fake::take_log();
    EXPECT_EQ(count(log, "copy to"), count(log, "copy from"));
    return count(log, "copy to");
  };
  EXPECT_EQ(pieces(4), 1u);
  EXPECT_EQ(pieces(kMiB / 2), 1u);
  EXPECT_EQ(pieces(2 * kMiB), 8u);
  EXPECT_EQ(pieces(64 * kMiB), 64u);
}

// The host goes on while a copy that fits into the blocks is under way.
TEST_F(FakeStaging, ACopyThatFitsIntoTheBlocksWaitsForNothing) {
  constexpr size_t kBytes = 16 * kMiB;
  const std::vector<uint8_t> from = bytes_of(kBytes, 3);
  std::vector<uint8_t> back(kBytes);
  const Allocation a = gpu->allocator().allocate(kBytes, &gpu->copy_in());
  gpu->copy(gpu->copy_in(), a.address, from.data(), kBytes).host_wait();
  fake::take_log();
  fake::run_at_once(false);
  const TimePoint in = gpu->copy(gpu->copy_in(), a.address, from.data(), kBytes);
  EXPECT_EQ(fake::take_log(), Lines{}) << "the host has waited";
  EXPECT_FALSE(in.passed());
  in.host_wait();
  const TimePoint out = gpu->copy(gpu->copy_out(), back.data(), a.address, kBytes);
  EXPECT_EQ(count(fake::take_log(), "copy from"), 0u) << "the host has waited";
  EXPECT_FALSE(out.passed());
  // Work that reads what the host still has to move waits for that, too.
  gpu->compute().wait(out);
  EXPECT_EQ(back, from);
  gpu->allocator().free(a, {});
}

void copy_on_many_threads(Device& gpu) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 2; ++i) {
        const size_t n = (t % 3 == 0 ? 37 * kMiB : t % 3 == 1 ? 3 * kMiB : 100) + t + i;
        const std::vector<uint8_t> from = bytes_of(n, t * 10 + i);
        wrong += round_trip(gpu, from, true) != from;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(FakeStaging, ManyThreadsCopyBothWaysAtOnce) {
  copy_on_many_threads(*gpu);
  fake::run_at_once(false);
  copy_on_many_threads(*gpu);
}
// What the compute stream reads is there, however far behind the copies are.
TEST_F(FakeStaging, WorkReadsWhatWasCopiedRightBeforeIt) {
  constexpr int kRounds = 200;
  const fake::Background beside;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const int64_t n = t % 2 ? 1 : 256;
      for (int i = 0; i < kRounds; ++i) {
        const auto value = static_cast<float>(t * 100000 + i);
        const Tensor x =
            on("CPU:0", [&] { return constant(Floats(static_cast<size_t>(n), value)); });
        Tensor copy;
        {
          const Tensor there = copy_to_device(x, *gpu);
          copy = duplicate(*there.impl(), *gpu);
        }
        for (const float v : floats(copy)) wrong += v != value;
      }
    });
  }
  // Recordings, and memory that changes hands, beside it.
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kRounds / 20; ++i) {
        const Tensor x = on("CPU:0", [] { return constant(Floats(256, 1.f)); });
        const DeviceScope scope("GPU:0");
        Variable v(constant(Floats(256, 3.f)));
        auto step = function([v](Tensor a) mutable {
          v.assign_add(a * 0.f + 1.f);
          return v + a;
        });
        for (int call = 0; call < 3; ++call) floats(step(x));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(FakeStaging, PageLockedMemoryIsBoundedAndGivenBack) {
  round_trip(*gpu, bytes_of(kMoreThanBlocks, 9), false);
  const size_t most = fake::page_locked();
  EXPECT_LE(most, 33 * kMiB);
  EXPECT_GE(most, 8 * kMiB);
  EXPECT_GE(gpu->allocator().trim(), 8 * kMiB);
  EXPECT_LE(fake::page_locked(), kMiB);
  const std::vector<uint8_t> from = bytes_of(5 * kMiB, 4);
  EXPECT_EQ(round_trip(*gpu, from, true), from);
}

// One after the other they need a few blocks, not all.
TEST_F(FakeStaging, SmallCopiesUseBlocksAgain) {
  gpu->allocator().trim();
  const size_t before = fake::page_locked();
  for (int i = 0; i < 100; ++i) round_trip(*gpu, bytes_of(64, 1), false);
  EXPECT_LE(fake::page_locked(), before + 9 * kMiB);
}

// Values that may change at once go into page-locked blocks, and nowhere else.
TEST_F(FakeStaging, AConstantIsCopiedOnceOnTheHost) {
  Floats values(2 << 20, 3.0f);
  const DeviceScope scope("/GPU:0");
  fake::run_at_once(false);
  Allocator& host = Runtime::get().cpu().allocator();
  host.reset_peak();
  const int64_t before = host.info().peak;
  const Tensor x = constant(values);
  EXPECT_LE(host.info().peak, before + (1 << 20));
  std::fill(values.begin(), values.end(), 4.0f);
  EXPECT_EQ(floats(x), Floats(2 << 20, 3.0f));
}

// As any other copy: whoever reads it is told, and nobody else.
TEST_F(FakeStaging, AConstantWhoseCopyIsRefusedIsSpoiled) {
  const DeviceScope scope("/GPU:0");
  for (size_t n : {size_t{3}, size_t{2} << 20}) {
    fake::refuse_copy(1);
    Tensor x;
    EXPECT_NO_THROW(x = constant(Floats(n, 3.0f)));
    fake::refuse_copy(0);
    EXPECT_ERROR(floats(x), InternalError, "copying to the GPU");
    EXPECT_NO_THROW(gpu->synchronize());
  }
}

// Somebody else's memory was read when the copy was given: they have it back at once.
TEST_F(FakeStaging, ForeignMemoryIsGivenBackWithoutAWait) {
  Floats values(1 << 20, 5.0f);
  fake::run_at_once(false);
  fake::take_log();
  bool given_back = false;
  Tensor x;
  {
    const Tensor foreign = from_foreign(values.data(), DType::kFloat32, {1 << 20},
                                        [&given_back] { given_back = true; });
    x = foreign.to("/GPU:0");
  }
  EXPECT_TRUE(given_back);
  EXPECT_EQ(fake::take_log(), Lines{}) << "the host has waited";
  std::fill(values.begin(), values.end(), 6.0f);
  EXPECT_EQ(floats(x), Floats(1 << 20, 5.0f));
}

// As many helpers as there can be, on a machine with fewer cores, too.
ALONE_TEST(FakeStagingAlone, AWholeTeamCopies, {}) {
  config::set_intra_op_parallelism_threads(8);
  Device* const gpu = real_gpu();
  if (!gpu) GTEST_SKIP() << why_no_gpu();
  for (bool at_once : {true, false}) {
    fake::run_at_once(at_once);
    const std::vector<uint8_t> from = bytes_of(kMoreThanBlocks, 5);
    EXPECT_EQ(round_trip(*gpu, from, true), from);
    copy_on_many_threads(*gpu);
  }
}

ALONE_TEST(FakeStagingAlone, OneThreadIsEnough, {}) {
  config::set_intra_op_parallelism_threads(1);
  Device* const gpu = real_gpu();
  if (!gpu) GTEST_SKIP() << why_no_gpu();
  const std::vector<uint8_t> from = bytes_of(kMoreThanBlocks, 5);
  EXPECT_EQ(round_trip(*gpu, from, true), from);
}

ALONE_TEST(FakeStagingAlone, ALostGpuKeepsNobodyInACopy, {}) {
  Device* const gpu = real_gpu();
  if (!gpu) GTEST_SKIP() << why_no_gpu();
  const std::vector<uint8_t> from = bytes_of(kMoreThanBlocks, 6);
  std::vector<uint8_t> back(from.size());
  const Allocation a = gpu->allocator().allocate(from.size(), &gpu->copy_in());
  fake::run_at_once(false);
  fake::lose_the_gpu(700);
  for (int i = 0; i < 2; ++i) {
    try {
      gpu->copy(gpu->copy_in(), a.address, from.data(), from.size()).host_wait();
      gpu->copy(gpu->copy_out(), back.data(), a.address, back.size()).host_wait();
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("cannot be used any more"), std::string::npos)
          << e.what();
    }
  }
}

}  // namespace
}  // namespace tandem::testing
