// PhysicalMemory: what the allocator needs of a GPU's virtual memory management:
// addresses are reserved once, pages of one size are made, mapped and unmapped. The
// driver's implementation is DriverMemory; tests have a fake. Calls come from one thread
// at a time (the allocator's lock).
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda/driver.h"

namespace tandem::cuda {

class PhysicalMemory {
 public:
  using Page = uint64_t;
  virtual ~PhysicalMemory() = default;
  /// Bytes of a page; addresses are mapped in whole pages.
  virtual size_t page_bytes() = 0;
  /// Reserves addresses without memory behind them.
  virtual std::byte* reserve(size_t bytes) = 0;
  /// A new page; false when the GPU has none left.
  virtual bool create(Page* page) = 0;
  virtual void release(Page page) = 0;
  virtual void map(std::byte* at, Page page) = 0;
  virtual void unmap(std::byte* at) = 0;
  /// Makes `bytes` from `at` on, just mapped, usable.
  virtual void allow_access(std::byte* at, size_t bytes) = 0;
};

/// The driver's memory of one GPU; the GPU's context is current in every call.
class DriverMemory final : public PhysicalMemory {
 public:
  explicit DriverMemory(CUdevice device);
  size_t page_bytes() override { return page_bytes_; }
  std::byte* reserve(size_t bytes) override;
  bool create(Page* page) override;
  void release(Page page) override;
  void map(std::byte* at, Page page) override;
  void unmap(std::byte* at) override;
  void allow_access(std::byte* at, size_t bytes) override;

 private:
  CUmemAllocationProp properties_{};
  CUmemAccessDesc access_{};
  size_t page_bytes_ = 0;
};

}  // namespace tandem::cuda
