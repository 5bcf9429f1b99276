// Allocator: memory of one device, in stream order. Freed memory may be handed out again
// to work of the same stream at once, to other work when the last uses have passed. Owned
// by its device; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/stream.h"
#include "tandem/device.h"

namespace tandem {

struct Allocation {
  void* address = nullptr;
  size_t bytes = 0;    // as asked
  size_t granted = 0;  // as taken from the limit
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Memory for work of `stream` (null: for the host). Aligned to 64 bytes. Throws
  /// ResourceExhaustedError with the limit, what is in use and what was asked.
  virtual Allocation allocate(size_t bytes, Stream* stream) = 0;
  /// `uses` are the points after which nobody touches the memory any more.
  virtual void free(const Allocation& allocation, std::span<const TimePoint> uses) = 0;
  virtual MemoryInfo info() const = 0;
  virtual void reset_peak() = 0;
  /// Gives cached memory back to the system; returns the bytes given back.
  virtual size_t trim() = 0;
};

}  // namespace tandem
