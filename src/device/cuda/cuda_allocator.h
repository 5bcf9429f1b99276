// CudaAllocator: stream-ordered memory of one logical GPU on the driver's virtual memory
// management (docs/cuda.md says why not cudaMallocAsync). Small requests share pages;
// large ones take whole pages, which can be moved to other addresses when free memory
// lies in pieces. Grows on demand up to its limit. Owned by its device; any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/allocator.h"
#include "device/cuda/zone.h"

namespace tandem::cuda {

class CudaAllocator final : public Allocator {
 public:
  struct Options {
    std::string device;     // full name, for messages
    std::string allocator;  // "GPU_0_cuda"
    std::string lane;       // recorder lane
    int64_t total = 0;      // bytes of the GPU
    int64_t limit = 0;      // bytes, 0: the GPU's memory
    /// Called before the first use and, with the lock held, before driver calls: makes
    /// the GPU's context current.
    std::function<void()> activate;
    std::function<std::unique_ptr<PhysicalMemory>()> memory;
    /// Gives back host memory that belongs to the GPU's; returns the bytes.
    std::function<size_t()> trim_host = {};
  };
  explicit CudaAllocator(Options options);

  Allocation allocate(size_t bytes, Stream* stream) override;
  void free(const Allocation& allocation, std::span<const TimePoint> uses) override;
  MemoryInfo info() const override;
  void reset_peak() override;
  size_t trim() override;

  /// Whether an address is memory of this allocator.
  bool holds(const void* address) const;

 private:
  void start();  // the first allocation
  Zone& zone_for(size_t bytes) { return bytes < kLarge ? *small_ : *large_; }
  /// Finds pages for `bytes` more in `zone`: spare, new, or taken from free blocks.
  bool grow(Zone& zone, size_t bytes);
  bool wait_for_pending(std::unique_lock<std::mutex>& lock);
  size_t release_spare();
  [[noreturn]] void out_of_memory(size_t bytes) const;

  static constexpr size_t kLarge = 4 << 20;         // takes whole pages from here on
  static constexpr size_t kSmallGrowth = 16 << 20;  // small pages come this many at once

  const Options options_;
  const char* const lane_;
  const int64_t limit_;

  mutable std::mutex mutex_;  // guards what follows
  std::unique_ptr<PhysicalMemory> memory_;
  std::unique_ptr<Zone> small_, large_;
  std::atomic<bool> started_{false};
  std::vector<PhysicalMemory::Page> spare_;  // not mapped anywhere
  int64_t held_ = 0;                         // bytes of pages that exist
  int64_t in_use_ = 0;
  int64_t peak_ = 0;
  bool refused_ = false;  // the GPU had no new page the last time
};

}  // namespace tandem::cuda
