// CpuAllocator: host memory. Small requests go to malloc; larger ones are kept in free
// lists by size class, so that results of large ops find warm pages. Blocks in the lists
// are bounded and those of the classes unused for longest are given back first. Owned by
// its device; any thread.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/allocator.h"

namespace tandem {

class CpuAllocator final : public Allocator {
 public:
  struct Options {
    std::string device;        // full name, for messages
    std::string lane;          // recorder lane
    int64_t memory_limit = 0;  // bytes, 0: none
    int64_t cache_bytes = 0;   // at most this much is kept for reuse
  };
  explicit CpuAllocator(Options options);
  ~CpuAllocator() override;

  Allocation allocate(size_t bytes, Stream* stream) override;
  void free(const Allocation& allocation, std::span<const TimePoint> uses) override;
  MemoryInfo info() const override;
  void reset_peak() override;
  size_t trim() override;

  /// Bytes kept for reuse.
  int64_t cached() const { return cached_.load(std::memory_order_relaxed); }

 private:
  /// From here on blocks are cached; smaller ones are malloc's.
  static constexpr size_t kSmall = 2048;
  /// From here on blocks are pages of their own.
  static constexpr size_t kMapped = size_t{1} << 20;
  /// Classes per power of two: at most 1/32 of a block is not asked for, so that what a
  /// plan needs is what it takes. Their sizes are multiples of the alignment.
  static constexpr int kStepBits = 5;
  static constexpr int kSteps = 1 << kStepBits;
  static constexpr int kFirstPower = 11;
  static constexpr int kPowers = 37;

  struct alignas(64) SizeClass {
    std::mutex mutex;
    std::vector<void*> blocks;          // last in, first out: warm in the caches
    std::atomic<uint64_t> last_use{0};  // of clock_
  };
  struct Deferred {
    Allocation allocation;
    std::vector<TimePoint> uses;
  };

  static int class_of(size_t bytes);
  static size_t class_bytes(int index);
  static void* system_allocate(size_t bytes);
  static void system_free(void* address, size_t bytes);

  /// Counts `granted` against the limit; false when it does not fit.
  bool take(int64_t granted);
  /// Waits for memory whose last uses are still running, then throws if that does not
  /// help.
  void take_or_throw(size_t bytes, int64_t granted);
  [[noreturn]] void out_of_memory(size_t bytes);
  void* take_block(int index);
  void release(const Allocation& allocation);
  /// Gives cached blocks back, oldest class first, until `bytes` are free; returns the
  /// bytes.
  size_t evict(size_t bytes);
  /// Releases deferred memory whose uses have passed; with `wait` all of it.
  void settle(bool wait);

  const Options options_;
  const char* const lane_;
  const int64_t limit_;  // the configured one, else the machine's memory
  std::atomic<int64_t> in_use_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> cached_{0};
  std::atomic<uint64_t> clock_{0};
  std::array<SizeClass, kPowers * kSteps> classes_;

  std::atomic<bool> has_deferred_{false};
  std::mutex deferred_mutex_;
  std::deque<Deferred> deferred_;
};

}  // namespace tandem
